"""Horovod's timeline: pairs of B and E, tensors, sizes, clocks, and files that just stop."""

import json

import pytest

from paceline import read
from paceline.model import InputError, Kind
from paceline.read.formats import horovod
from paceline.read.opened import Opened


def meta(pid, name):
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def begin(name, ts, pid=1):
    return {"ph": "B", "name": name, "ts": ts, "pid": pid}


def end(ts, pid=1, **args):
    return {"ph": "E", "ts": ts, "pid": pid, **({"args": args} if args else {})}


def ready(rank, ts, pid=1):
    return {"ph": "X", "name": str(rank), "ts": ts, "pid": pid, "dur": 0}


ONE = [
    meta(1, "w"), begin("NEGOTIATE_ALLREDUCE", 10), ready(0, 11), ready(1, 19), end(20),
    begin("ALLREDUCE", 30), begin("MEMCPY_IN_FUSION_BUFFER", 31), end(33),
    begin("NCCL_ALLREDUCE", 34), end(38), end(40, dtype="float16", shape="[3, 5]"),
]  # fmt: skip


def written(tmp_path, events, tail=",\n", name="t_rank_2.json"):
    path = tmp_path / name
    path.write_text("[\n" + ",\n".join(json.dumps(event) for event in events) + tail)
    return path


def got(tmp_path, events, **options):
    (trace,) = read.traces(written(tmp_path, events, **options))
    return trace


@pytest.mark.parametrize("tail", [",\n", "]", "\n]\n", "", "\n"])
def test_a_reduction_and_its_phases(tmp_path, tail):
    trace = got(tmp_path, ONE, tail=tail)
    assert trace.worker == 2
    assert trace.clock == "horovod"
    rows = [(e.name, e.kind, e.start_ns, e.duration_ns) for e in trace]
    assert rows == [
        ("negotiate all_reduce", Kind.HOST, 10_000, 10_000),
        ("rank ready", Kind.HOST, 11_000, 0),
        ("rank ready", Kind.HOST, 19_000, 0),
        ("all_reduce", Kind.COLLECTIVE, 30_000, 10_000),
        ("MEMCPY_IN_FUSION_BUFFER", Kind.COPY, 31_000, 2_000),
        ("NCCL_ALLREDUCE", Kind.HOST, 34_000, 4_000),
    ]
    assert {event.layer for event in trace} == {"w"}
    assert [event.size_bytes for event in trace][3] == 30
    assert [event.peer for event in trace][1:3] == [0, 1]
    assert trace.facts.backend == "nccl"
    assert trace.facts.workers == 2
    assert trace.notes == ()


def test_phases_do_not_share_the_lane_of_what_they_are_part_of(tmp_path):
    trace = got(tmp_path, ONE)
    lanes = {event.name: event.lane for event in trace}
    assert lanes["all_reduce"] == lanes["negotiate all_reduce"]
    assert lanes["NCCL_ALLREDUCE"] == lanes["MEMCPY_IN_FUSION_BUFFER"] != lanes["all_reduce"]


def test_tensors_overlap_and_keep_their_own_ends(tmp_path):
    events = [
        meta(1, "a"), meta(2, "b"), begin("ALLGATHER", 1, 1), begin("BROADCAST", 2, 2),
        end(7, 1), end(9, 2, dtype="int64", shape="[2]"),
    ]  # fmt: skip
    trace = got(tmp_path, [begin("NEGOTIATE_JOIN", 0, 3), end(1, 3), *events])
    named = {event.layer: event for event in trace}
    assert (named["a"].name, named["a"].duration_ns, named["a"].size_bytes) == (
        "all_gather", 6000, None,
    )  # fmt: skip
    assert (named["b"].name, named["b"].duration_ns, named["b"].size_bytes) == (
        "broadcast", 7000, 16,
    )  # fmt: skip
    assert "tensor 3" in named


def test_newer_files_know_when_they_began(tmp_path):
    origin = 1_700_000_000_000_123
    head = {"name": "process_name", "ph": "M", "pid": 0,
            "args": {"start_time_since_epoch_in_micros": origin}}  # fmt: skip
    trace = got(tmp_path, [head, *ONE], tail="]")
    assert trace.clock == "unix"
    assert trace.event(0).start_ns == (origin + 10) * 1000
    # one that comes too late cannot move what was read
    assert got(tmp_path, [*ONE, head]).clock == "horovod"


def test_what_does_not_pair_is_noted(tmp_path):
    events = [end(1), *ONE, begin("ALLREDUCE", 50), begin("QUEUE", 51), meta(2, "x"),
              begin("ALLREDUCE", 90, 2), end(80, 2)]  # fmt: skip
    trace = got(tmp_path, events)
    assert {note.code: note.count for note in trace.notes} == {
        "no-begin": 1, "clock-back": 1, "unfinished": 2,
    }  # fmt: skip
    assert [event.duration_ns for event in trace][-3:] == [None, None, None]


def test_a_file_that_stops_inside_an_event(tmp_path):
    trace = got(tmp_path, ONE, tail=',\n{"ph": "B", "na')
    assert len(trace) == 6
    assert [note.code for note in trace.notes] == ["truncated"]


def test_markers_and_other_events_are_left_out(tmp_path):
    others = [
        {"ph": "i", "name": "CYCLE_START", "ts": 5, "s": "g"},
        {"ph": "C", "name": "counter", "ts": 5, "pid": 1, "args": {"value": 3}},
        {"ph": "X", "name": "not a rank", "ts": 5, "pid": 1},
        {},
    ]
    assert len(got(tmp_path, [*others, *ONE])) == len(got(tmp_path, ONE))


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("float32", "[]", 4), ("HOROVOD_FLOAT64", "[2, 3]", 48), ("bool", "[7]", 7),
        ("bfloat16", "[ 1,2 ]", 4), ("mystery", "[1]", None), ("float32", None, None),
        (None, "[1]", None), ("float32", "[-1]", None), ("float32", "[1x]", None),
        ("float32", "[" + "9" * 18 + ", 9, 9, 9]", None), ("float32", "[" + "1, " * 70 + "]", None),
        ("float32", "1" * 10_000 + "x", None),
    ],
)  # fmt: skip
def test_sizes(tmp_path, dtype, shape, size):
    events = [meta(1, "w"), begin("NEGOTIATE_ALLREDUCE", 1), end(2), begin("ALLREDUCE", 3)]
    trace = got(tmp_path, [*events, end(4, dtype=dtype, shape=shape)])
    assert trace.event(1).size_bytes == size


def test_ticks_of_unlikely_ranks_tell_no_count(tmp_path):
    events = [meta(1, "w"), begin("NEGOTIATE_ALLREDUCE", 1), ready(0, 2), ready("9" * 12, 3)]
    trace = got(tmp_path, events)
    assert trace.facts.workers is None
    assert trace.event(2).peer is None


@pytest.mark.parametrize(
    "event",
    [begin("ALLREDUCE", "soon"), begin("ALLREDUCE", 1e300), begin("ALLREDUCE", -(2**52)), [1],
     {"ph": "B", "name": "ALLREDUCE", "ts": 1, "pid": "one"}],
)  # fmt: skip
def test_what_is_no_event_is_refused(tmp_path, event):
    with pytest.raises(InputError) as caught:
        got(tmp_path, [*ONE, event])
    assert "t_rank_2.json" in str(caught.value)


def test_no_events(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"name": "NEGOTIATE_ALLREDUCE", "ph": "i", "ts": 1}]')
    with pytest.raises(InputError, match="no event"):
        read.traces(path)


def test_only_timelines_of_horovod_are_claimed(tmp_path):
    assert horovod.sniff(Opened(written(tmp_path, ONE)))
    for other in ("", "[", '[{"ph": "X", "cat": "cpu_op"}]', '{"name": "NEGOTIATE_ALLREDUCE"}'):
        path = tmp_path / "other.json"
        path.write_text(other)
        assert not horovod.sniff(Opened(path))
