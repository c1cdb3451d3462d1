"""Pipeline operations: places, peers, groups, sequences, steps, and what waits for what."""

import numpy as np
import pytest

from paceline import read
from paceline.model import InputError, Kind, Phase
from paceline.read.formats import native_parquet, pipeline_ops
from paceline.read.opened import Opened

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COLUMNS = (
    "rank", "dp_rank", "stage", "step", "optype", "seq_id", "start_ts", "duration",
    "mb_id", "mc", "gmc",
)  # fmt: skip
NAMELESS = -1


def step_of(step, rank, dp, stage, *ops):
    """Rows of one rank and step, from (optype, seq_id, start, end[, mb_id[, mc[, gmc]]])."""
    return [
        (rank, dp, stage, step, name, seq, start, end - start, *rest, *[-1] * (3 - len(rest)))
        for name, seq, start, end, *rest in ops
    ]


def pipeline(step=5, start=0.0, ranks=((0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1))):
    """One step of two stages in two replicas, with two micro-batches and a combined exchange."""
    rows = []
    for rank, dp, stage in ranks:
        if stage == 0:
            ops = [
                ("params-all-gather", 0, 0.0, 0.1, -1, 0, -1),
                ("forward-compute", 0, 0.1, 0.3, 0, 0, 0),
                ("forward-send", 0, 0.3, 0.31),
                ("forward-compute", 1, 0.31, 0.5, 1, 0, 0),
                ("forward-send", 1, 0.5, 0.9),
                ("backward-recv", 0, 0.5, 0.9),
                ("backward-compute", 0, 0.9, 1.3, 0, 0, 0),
                ("backward-recv", 1, 1.3, 1.4),
                ("backward-compute", 1, 1.4, 1.8, 1, 0, 0),
                ("embedding-grads-all-reduce", 0, 1.8, 2.0),
            ]
        else:
            ops = [
                ("params-all-gather", 0, 0.0, 0.1, -1, 0, -1),
                ("forward-recv", 0, 0.1, 0.31),
                ("forward-compute", 0, 0.31, 0.5, 0, 0, 1),
                ("backward-compute", 0, 0.5, 0.89, 0, 0, 1),
                ("backward-send", 0, 0.89, 0.9),
                ("forward-recv", 1, 0.89, 0.9),
                ("forward-compute", 1, 0.9, 1.1, 1, 0, 1),
                ("backward-compute", 1, 1.1, 1.39, 1, 0, 1),
                ("backward-send", 1, 1.39, 1.4),
                ("embedding-grads-all-reduce", 0, 1.4, 2.0),
            ]
        ops += [
            ("gc", 0, 2.0, 2.0, 0),
            ("layernorm-grads-all-reduce", 0, 2.0 + 0.01 * dp, 2.001 + 0.01 * dp),
            ("grads-reduce-scatter", 0, 2.1, 2.2, -1, 0, -1),
            ("optimizer-clip-main-grad", 0, 2.2 + 0.1 * dp, 2.5),
            ("optimizer", 0, 2.5, 2.6),
        ]
        rows += step_of(
            step, rank, dp, stage, *((n, s, a + start, b + start, *r) for n, s, a, b, *r in ops)
        )
    return rows


def table(rows, order=None):
    columns = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    made = pa.table({name: list(column) for name, column in columns.items()})
    return made if order is None else made.take(order)


def written(tmp_path, rows, name="trace-x.parquet", **options):
    path = tmp_path / name
    pq.write_table(table(rows, **options), path)
    return path


def got(tmp_path, rows, **options):
    return {trace.worker: trace for trace in read.traces(written(tmp_path, rows, **options))}


def named(trace, name, sequence=None):
    found = [event for event in trace if event.name == name]
    return found if sequence is None else found[sequence]


def waits(trace, event):
    return {(trace.event(at).name, named(trace, trace.event(at).name).index(trace.event(at)))
            for worker, at in event.after}  # fmt: skip


def test_kinds_phases_layers_and_lanes(tmp_path):
    traces = got(tmp_path, pipeline())
    assert sorted(traces) == [0, 1, 2, 3]
    first = traces[0]
    assert first.clock == "step"
    assert named(first, "forward-compute", 0).kind is Kind.COMPUTE
    assert named(first, "forward-compute", 0).phase is Phase.FORWARD
    assert named(first, "backward-recv", 0).kind is Kind.RECV
    assert named(first, "optimizer", 0).phase is Phase.UPDATE
    assert named(first, "gc", 0).kind is Kind.HOST
    assert {event.layer for event in first} == {"stage 0"}
    assert {event.layer for event in traces[3]} == {"stage 1"}
    assert named(first, "forward-send", 1).lane != named(first, "backward-recv", 0).lane
    assert named(first, "forward-compute", 0).duration_ns == 200_000_000


def test_both_ends_of_a_message_know_each_other(tmp_path):
    traces = got(tmp_path, pipeline())
    for sender, receiver, way in ((0, 1, "forward"), (1, 0, "backward"), (3, 2, "backward")):
        sends = named(traces[sender], f"{way}-send")
        receives = named(traces[receiver], f"{way}-recv")
        assert {event.peer for event in sends} == {receiver}
        assert {event.peer for event in receives} == {sender}
        assert [(e.group, e.sequence) for e in sends] == [(e.group, e.sequence) for e in receives]
        assert len({event.sequence for event in sends}) == 2


def test_places_come_from_the_columns(tmp_path):
    # stages and replicas numbered against every formula
    traces = got(tmp_path, pipeline(ranks=((7, 0, 0), (2, 0, 1), (4, 1, 0), (9, 1, 1))))
    assert {event.peer for event in named(traces[7], "forward-send")} == {2}
    groups = {group.name: group.members for group in traces[7].groups}
    assert groups["data stage 0"] == (4, 7)
    assert groups["embedding replica 0"] == (7, 2)
    assert groups["all"] == (2, 4, 7, 9)
    assert groups["tensor replica 0 stage 0"] == (7,)


def test_sequences_differ_between_meetings_of_a_group(tmp_path):
    traces = got(tmp_path, pipeline(5) + pipeline(9))
    for trace in traces.values():
        keys = [(e.group, e.sequence, e.kind) for e in trace if e.group is not None]
        assert len(keys) == len(set(keys))
    one, two = ({(e.group, e.sequence, e.name) for e in traces[at] if e.kind is Kind.COLLECTIVE
                 and e.name != "layernorm-grads-all-reduce"} for at in (0, 1))  # fmt: skip
    shared = {key for key in one if key[0] in ("all", "embedding replica 0")}
    assert shared
    assert shared <= two


def test_steps_follow_each_other_and_keep_their_times(tmp_path):
    trace = got(tmp_path, pipeline(9) + pipeline(5) + pipeline(1000))[0]
    starts = {step: trace.start_ns[trace.step == step] for step in (5, 9, 1000)}
    ends = {s: (trace.start_ns + trace.duration_ns)[trace.step == s].max() for s in starts}
    assert starts[5].min() == 0
    assert starts[9].min() == ends[5] + 1_000_000
    assert starts[1000].min() > ends[9]
    assert (np.diff(trace.start_ns) >= 0).all()
    assert (starts[9] - starts[9].min()).tolist() == starts[5].tolist()


def test_the_logic_of_a_step(tmp_path):
    first, second = (got(tmp_path, pipeline())[at] for at in (0, 1))
    assert ("forward-recv", 1) in waits(second, named(second, "forward-compute", 1))
    assert ("forward-compute", 1) in waits(second, named(second, "backward-compute", 1))
    assert waits(first, named(first, "forward-send", 1)) == {("forward-compute", 1)}
    assert ("backward-recv", 1) in waits(first, named(first, "backward-compute", 1))
    assert ("params-all-gather", 0) in waits(first, named(first, "forward-compute", 0))
    assert ("backward-compute", 1) in waits(first, named(first, "grads-reduce-scatter", 0))
    clip = waits(first, named(first, "optimizer-clip-main-grad", 0))
    assert {("grads-reduce-scatter", 0), ("embedding-grads-all-reduce", 0)} <= clip
    assert ("optimizer-clip-main-grad", 0) in waits(first, named(first, "optimizer", 0))


def test_messages_that_never_run_beside_computation_hold_up_the_program(tmp_path):
    first = got(tmp_path, pipeline())[0]
    assert ("forward-send", 0) in waits(first, named(first, "forward-compute", 1))
    exchange = {("forward-send", 1), ("backward-recv", 0)}
    assert exchange <= waits(first, named(first, "backward-compute", 0))
    assert not exchange & waits(first, named(first, "forward-send", 1))


def test_messages_beside_computation_do_not(tmp_path):
    rows = [
        (*row[:6], row[6] - 0.15, row[7] + 0.15, *row[8:]) if row[4] == "backward-recv" else row
        for row in pipeline()
    ]
    first = got(tmp_path, rows)[0]
    assert ("forward-send", 0) not in waits(first, named(first, "forward-compute", 1))
    assert waits(first, named(first, "forward-send", 1)) == {("forward-compute", 1)}
    assert ("backward-recv", 1) in waits(first, named(first, "backward-compute", 1))


def test_a_rule_that_the_times_deny_is_dropped(tmp_path):
    # the reduction of gradients runs beside the backward pass, as it does when it is overlapped
    rows = [
        (*row[:6], 1.5, 0.2, *row[8:]) if row[4] == "grads-reduce-scatter" else row
        for row in pipeline()
    ]
    trace = got(tmp_path, rows)[0]
    assert ("backward-compute", 1) not in waits(trace, named(trace, "grads-reduce-scatter", 0))
    for event in trace:
        assert all(trace.event(at).start_ns + trace.event(at).duration_ns
                   <= event.start_ns + 20_000 for _, at in event.after)  # fmt: skip


def test_what_members_did_not_share_is_no_collective_of_theirs(tmp_path):
    # replicas reduce one after the other, and clip each for itself
    apart = {"grads-reduce-scatter": 0.11, "optimizer-clip-main-grad": 0.5, "optimizer": 0.5}
    rows = [(*r[:6], r[6] + apart.get(r[4], 0) * r[1], *r[7:]) for r in pipeline()]
    traces = got(tmp_path, rows)
    assert named(traces[2], "grads-reduce-scatter", 0).group == "rank 2 alone"
    assert named(traces[2], "optimizer-clip-main-grad", 0).kind is Kind.COMPUTE
    assert [note.code for note in traces[0].notes] == ["not-together"]
    (together,) = (e for e in got(tmp_path, pipeline())[2] if e.name == "optimizer-clip-main-grad")
    assert together.kind is Kind.COLLECTIVE


def test_chunks_of_an_interleaved_pipeline(tmp_path):
    rows = []
    for stage in (0, 1):
        other = [("forward-recv", 0, 0.1, 0.2)] if stage else []
        again = [("forward-recv", len(other), 0.4, 0.5)]
        last = [] if stage else [("forward-send", 1, 0.7, 0.8)]
        ops = [*other, ("forward-compute", 0, 0.2, 0.3, 0, 0, stage),
               ("forward-send", 0, 0.3, 0.4), *again,
               ("forward-compute", 1, 0.5, 0.7, 0, 1, 2 + stage), *last]  # fmt: skip
        rows += step_of(1, stage, 0, stage, *ops)
    first, second = (got(tmp_path, rows)[at] for at in (0, 1))
    assert {event.layer for event in first} >= {"stage 0 chunk 0", "stage 0 chunk 1"}
    # chunk 1 of stage 0 is fed by chunk 0 of the last stage
    assert named(second, "forward-send", 0).peer == 0
    assert named(first, "forward-recv", 0).peer == 1
    assert waits(first, named(first, "forward-compute", 1)) >= {("forward-recv", 0)}
    assert waits(first, named(first, "forward-compute", 0)) == set()
    assert ("forward-recv", 1) in waits(second, named(second, "forward-compute", 1))


def test_parts_of_a_stage_talk_to_their_like(tmp_path):
    ranks = ((0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1))
    traces = got(tmp_path, pipeline(ranks=ranks))
    assert {e.peer for e in named(traces[1], "forward-send")} == {3}
    assert {g.name: g.members for g in traces[0].groups}["tensor replica 0 stage 0"] == (0, 1)


def test_order_of_rows_does_not_matter(tmp_path):
    rows = pipeline(5) + pipeline(6)
    mixed = np.random.default_rng(1).permutation(len(rows))
    one, two = got(tmp_path, rows), got(tmp_path, rows, order=mixed)
    assert [list(trace) for trace in one.values()] == [list(trace) for trace in two.values()]


def test_other_operations_are_noted(tmp_path):
    rows = pipeline() + step_of(5, 0, 0, 0, ("checkpoint", 0, 2.7, 2.9))
    trace = got(tmp_path, rows)[0]
    assert named(trace, "checkpoint", 0).kind is Kind.HOST
    (note,) = trace.notes
    assert (note.code, note.count) == ("unknown-operation", 1)
    assert "checkpoint" in note.text


def test_the_file_beside_it_tells_sizes(tmp_path):
    meta = tmp_path / "meta-x.yaml"
    meta.write_text("trial_name: x\npp_size: 3\nworld_size: 6\n")
    trace = got(tmp_path, pipeline())[0]
    assert trace.facts.workers == 6
    assert named(trace, "embedding-grads-all-reduce", 0).group == "embedding replica 0"
    assert {g.name: g.members for g in trace.groups}["embedding replica 0"] == (0,)
    meta.write_text("pp_size: 1\n")
    with pytest.raises(InputError, match=r"does not fit meta-x\.yaml: it has stage 1"):
        got(tmp_path, pipeline())
    meta.write_text("world_size: 3\n")
    with pytest.raises(InputError, match="rank 3"):
        got(tmp_path, pipeline())
    meta.unlink()
    assert got(tmp_path, pipeline())[0].facts.workers is None


@pytest.mark.parametrize(
    ("column", "value", "word"),
    [
        ("start_ts", -1.0, "start_ts -1"),
        ("start_ts", float("nan"), "start_ts nan"),
        ("duration", float("inf"), "duration inf"),
        ("duration", None, "duration nan"),
        ("rank", -2, "rank -2"),
        ("step", None, "step -1"),
        ("optype", None, "optype -1"),
        ("seq_id", 10**7, "seq_id 10000000"),
        ("mb_id", -2, "mb_id -2"),
        ("stage", 1, "rank 0 that its stage is"),
        ("seq_id", 1, "twice"),
        ("optype", 3, "'optype' of type int64"),
    ],
)
def test_a_bad_row_is_named(tmp_path, column, value, word):
    made = table(pipeline()[1:])
    if column == "optype" and value == 3:
        values = [3] * len(made)
    else:
        values = [value, *made.column(column).to_pylist()[1:]]
    made = made.set_column(made.column_names.index(column), column, pa.array(values))
    path = tmp_path / "t.parquet"
    pq.write_table(made, path)
    with pytest.raises(InputError) as caught:
        read.traces(path)
    assert word in str(caught.value)
    assert path.name in str(caught.value)


def test_missing_columns_and_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table(pipeline()).drop_columns(["seq_id"]), path)
    with pytest.raises(InputError, match="no column 'seq_id'"):
        read.traces(path)
    pq.write_table(table(pipeline()).slice(0, 0), path)
    with pytest.raises(InputError, match="no operation"):
        read.traces(path)
    pq.write_table(table(pipeline()).drop_columns(["mb_id", "mc", "gmc"]), path)
    trace = read.traces(path)[0]
    assert ("backward-recv", 1) in waits(trace, named(trace, "backward-compute", 1))


def test_steps_of_ages_are_refused(tmp_path):
    rows = [(0, 0, 0, step, "gc", 0, 0.0, 1e6, 0, -1, -1) for step in range(3000)]
    with pytest.raises(InputError, match="73 years"):
        got(tmp_path, rows)


def test_only_such_files_are_claimed(tmp_path):
    opened = Opened(written(tmp_path, pipeline()))
    assert pipeline_ops.sniff(opened)
    assert not native_parquet.sniff(opened)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"rank": [1], "optype": ["x"]}), path)
    assert not pipeline_ops.sniff(Opened(path))
