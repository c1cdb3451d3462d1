"""Execution traces: order, records, data dependencies, collectives; both schemas alike."""

import json

import pytest

from paceline import read
from paceline.model import Group, InputError, Kind, Phase
from paceline.read.formats import execution_trace
from paceline.read.opened import Opened

DEVICE = "cuda:0"


def tensor(identity, storage, first=0, elements=4, each=4):
    return [identity, storage, first, elements, each, DEVICE]


def op(name, rf, parent=2, inputs=(), outputs=(), **other):
    """One operator, in words that both schemas can be made of; its id is 100 + rf."""
    return {"id": 100 + rf, "name": name, "parent": parent, "rf_id": rf, "inputs": list(inputs),
            "outputs": list(outputs), "tid": 1, "scope": 0, **other}  # fmt: skip


def old(own, told):
    return own


def new(own, told):
    fields = {key: own[key] for key in ("rf_id", "tid", "scope")} | told
    return {
        "id": own["id"], "name": own["name"], "ctrl_deps": own["parent"],
        "inputs": {"values": own["inputs"], "shapes": [], "types": []},
        "outputs": {"values": own["outputs"], "shapes": [], "types": []},
        "attrs": [{"name": key, "type": "x", "value": value} for key, value in fields.items()],
    }  # fmt: skip


ROOTS = [
    op("[pytorch|profiler|execution_graph|process]", 0, 1, id=1, scope=7),
    op("[pytorch|profiler|execution_trace|thread]", 0, 1, id=2, scope=7),
]


def written(tmp_path, ops, schema=old, name="et_rank_3.json"):
    path = tmp_path / name
    made = [schema(own, own.pop("told", {})) for own in map(dict, [*ROOTS, *ops])]
    number = "1.0.1" if schema is old else "1.1.1-chakra.0.0.4"
    path.write_text(json.dumps({"schema": number, "nodes": made}))
    return path


@pytest.fixture(params=[old, new], ids=["1.0", "1.1"])
def got(request, tmp_path):
    """A function from operators to their trace, in either schema."""

    def trace(*ops):
        (found,) = read.traces(written(tmp_path, ops, request.param))
        return found

    return trace


def waits(trace, event):
    return [trace.event(at).name for worker, at in trace.event(event).after]


def test_operators_come_in_the_order_in_which_they_began(got):
    inner, outer = op("aten::mm", 2, 101), op("aten::linear", 1)
    trace = got(inner, outer, op("aten::relu", 3, tid=7))
    assert trace.worker == 3
    assert trace.clock is None
    assert [event.name for event in trace] == ["aten::linear", "aten::mm", "aten::relu"]
    assert [event.record for event in trace] == [1, 2, 3]
    assert [event.lane for event in trace] == ["thread 1", "thread 1", "thread 7"]
    assert all(event.start_ns is None and event.duration_ns is None for event in trace)
    assert {event.kind for event in trace} == {Kind.COMPUTE}


def test_a_reader_comes_after_the_last_writer(got):
    a, b = tensor(10, 20), tensor(11, 21)
    trace = got(
        op("first", 1, outputs=[a]),
        op("second", 2, outputs=[a]),
        op("other", 3, outputs=[b]),
        op("reads", 4, inputs=[[a, b], 3, "text", None, True, 0.5]),
        op("again", 5, inputs=[a]),
    )
    assert waits(trace, 3) == ["second", "other"]
    assert waits(trace, 4) == ["second"]
    assert waits(trace, 1) == []


def test_a_tensor_is_known_by_its_storage_too(got):
    # identities are used again for tensors elsewhere; views share elements of a storage
    trace = got(
        op("base", 1, outputs=[tensor(10, 20, 0, 8)]),
        op("elsewhere", 2, outputs=[tensor(10, 99)]),
        op("half", 3, outputs=[tensor(12, 20, 4, 4)]),
        op("reads front", 4, inputs=[tensor(13, 20, 0, 4)]),
        op("reads back", 5, inputs=[tensor(14, 20, 6, 1)]),
        op("reads base", 6, inputs=[tensor(10, 20, 0, 8)]),
    )
    assert waits(trace, 3) == []
    assert waits(trace, 4) == ["half"]
    assert waits(trace, 5) == ["base", "half"]


def test_only_innermost_operators_use_data(got):
    a = tensor(10, 20)
    trace = got(
        op("aten::linear", 1, outputs=[a]),
        op("aten::mm", 2, 101, outputs=[a]),
        op("aten::gelu", 3, inputs=[a]),
        op("aten::erf", 4, 103, inputs=[a]),
    )
    assert waits(trace, 2) == []
    assert waits(trace, 3) == ["aten::mm"]


def test_an_operator_in_place_does_not_wait_for_itself(got):
    a = tensor(10, 20)
    trace = got(op("add_", 1, inputs=[a], outputs=[a]), op("add_", 2, inputs=[a], outputs=[a]))
    assert [event.after for event in trace] == [(), ((3, 0),)]


def collective(rf, params, told=None, mark="nccl:all_reduce", outputs=()):
    """c10d, record_param_comms and the backend's mark, one inside the other."""
    a = tensor(10, 20)
    ops = [
        op("c10d::allreduce_", rf, inputs=[[a]], outputs=list(outputs)),
        op("record_param_comms", rf + 1, 100 + rf, inputs=[[a], *params], told=told or {}),
    ]
    if mark:
        ops.append(op(mark, rf + 2, 101 + rf, inputs=[a], scope=7))
    return ops


def test_a_collective_and_who_waits_for_it(got):
    a = tensor(10, 20)
    trace = got(
        op("grad", 1, outputs=[a]),
        *collective(2, [147, 94594108284448, 0, "allreduce", [8, 8], []]),
        op("record_param_comms", 5, inputs=[147, 0, 0, "wait", [], []]),
        op("step", 6, inputs=[a]),
    )
    calls, params, reduce, wait = (trace.event(at) for at in (1, 2, 3, 4))
    assert (reduce.name, reduce.kind, reduce.sequence) == ("all_reduce", Kind.COLLECTIVE, 147)
    assert reduce.size_bytes == 16
    assert {calls.kind, params.kind, wait.kind} == {Kind.HOST}
    assert waits(trace, 3) == ["grad"]
    assert waits(trace, 4) == ["all_reduce"]
    assert waits(trace, 5) == ["all_reduce"]
    assert trace.facts.backend == "nccl"


def test_a_collective_writes_what_the_operators_around_it_say(got):
    out = tensor(30, 31)
    trace = got(
        *collective(1, [5, 0, 0, "all_to_all"], mark="nccl:all_to_all", outputs=[out]),
        op("reads", 4, inputs=[out]),
    )
    assert waits(trace, 3) == ["all_to_all"]


def test_without_a_mark_the_operator_itself_is_the_collective(got):
    trace = got(*collective(1, [5, 0, 0, "allreduce", [], []], mark=None))
    assert [(e.name, e.kind) for e in trace] == [
        ("c10d::allreduce_", Kind.HOST), ("all_reduce", Kind.COLLECTIVE),
    ]  # fmt: skip
    plain = got(op("record_param_comms", 1, inputs=[7]))
    assert plain.event(0).kind is Kind.HOST


def test_groups_of_newer_files(tmp_path):
    made = [
        {"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4},
        {"pg_name": "7", "ranks": [3, 1], "group_size": 2},
        {"pg_name": "8", "ranks": [-1], "group_size": 1},
        {"pg_name": "9", "ranks": [], "group_size": 10**9},
    ]
    init = op("## process_group:init ##", 1, inputs=[json.dumps(made)])
    told = {"pg_name": "7", "collective_name": "allreduce"}
    ops = [init, *collective(2, ["(12, False)", ["7", "x"], "allreduce"], told)]
    (trace,) = read.traces(written(tmp_path, ops, new))
    event = trace.event(2)
    assert (event.name, event.group, event.sequence) == ("all_reduce", "7", 12)
    assert trace.groups == (Group(name="7", members=(3, 1)),)
    assert trace.facts.workers == 4
    assert "process_group:init" not in {event.name for event in trace}
    for text in ("[", "[1]", "{}", '[{"ranks": "x"}]'):
        broken = op("## process_group:init ##", 1, inputs=[text, 3])
        (trace,) = read.traces(written(tmp_path, [broken, *ops[1:]], new))
        assert trace.groups == (Group(name="7"),)


def test_messages_and_gloo(got):
    trace = got(op("nccl:send 0->1", 1, scope=7), op("gloo:barrier", 2, scope=7))
    assert [(e.name, e.kind) for e in trace] == [("send", Kind.SEND), ("barrier", Kind.COLLECTIVE)]


def test_phases_are_those_of_what_is_around(got):
    trace = got(
        op("aten::mm", 1),
        op("autograd::engine::evaluate_function: MmBackward0", 2),
        op("aten::mm", 3, 102),
        op("Optimizer.step#SGD.step", 4, scope=7),
        op("aten::add_", 5, 104),
        op("TorchScript", 6, scope=1),
    )
    assert [event.phase for event in trace] == [
        Phase.OTHER, Phase.BACKWARD, Phase.BACKWARD, Phase.UPDATE, Phase.UPDATE, Phase.BACKWARD,
    ]  # fmt: skip
    assert trace.event(3).kind is Kind.HOST


def test_operators_in_a_circle_of_parents_do_no_harm(got):
    trace = got(
        op("record_param_comms", 1, 102, inputs=[3, 0, 0, "allreduce"]),
        op("record_param_comms", 2, 101, inputs=[3, 0, 0, "allreduce"]),
        op("nccl:all_reduce", 3, 101),
        op("self", 4, 104),
    )
    assert len(trace) == 4


def test_numbers_out_of_range_are_not_known(got):
    trace = got(
        op("a", 1, rf_id=2**63, tid=-1, outputs=[[1, 2, 3, 4, 2**70, DEVICE], [0, 0, 0, 0, 0, ""]]),
        op("b", 2, inputs=[tensor(1, 2)]),
    )
    assert trace.event(0).record is None
    assert trace.event(0).lane == "thread"
    assert waits(trace, 1) == []


def test_a_file_that_breaks_off(tmp_path):
    path = written(tmp_path, [op("aten::mm", 1), op("aten::relu", 2)])
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"relu")])
    (trace,) = read.traces(path)
    assert [event.name for event in trace] == ["aten::mm"]
    assert trace.notes[0].code == "truncated"


def test_a_key_given_twice_counts_as_its_last_value(tmp_path):
    path = written(tmp_path, [])
    one, two = (json.dumps([op(name, 1)]) for name in ("a", "b"))
    path.write_text(f'{{"schema": "1.0.1", "nodes": {one}, "nodes": {two}}}')
    (trace,) = read.traces(path)
    assert [event.name for event in trace] == ["b"]


def test_protobuf_is_recognized_and_what_to_give_instead_is_said(tmp_path):
    path = tmp_path / "rank_0.et"
    path.write_bytes(b"\x07\n\x050.0.4")
    with pytest.raises(InputError) as caught:
        read.traces(path)
    assert "protobuf" in str(caught.value)
    assert "ExecutionTraceObserver" in str(caught.value)
    path.write_bytes(written(tmp_path, [op("a", 1)]).read_bytes())
    assert len(read.traces(path)[0]) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"schema": "1.0.1", "nodes": []}', "no operator"),
        ('{"schema": "1.0.1", "nodes": 3}', "no operator"),
        ('{"schema": "1.0.1", "nodes": [{"id": 1}]}', "node 0"),
        ('{"schema": "1.0.1", "nodes": [{"id": 1, "name": "a", "inputs": "x"}]}', "node 0"),
        ('{"schema": "1.0.1", "nodes": [{"id": 1, "name": "a", "inputs": %s}]}'
         % ("[" * 200 + "]" * 200), "deeper"),
        ('{"schema": "1.0.1", "nodes": [{"id": 1, "name": "a"}, oops]}', "node 1"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused(tmp_path, text, word):
    path = tmp_path / "et.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read.traces(path)
    assert word in str(caught.value)
    assert "et.json" in str(caught.value)


def test_only_execution_traces_are_claimed(tmp_path):
    assert execution_trace.sniff(Opened(written(tmp_path, [op("a", 1)])))
    path = tmp_path / "other.json"
    for other in (
        "",
        "{}",
        '{"schemaVersion": 1, "nodes": []}',
        '[{"schema": "1.0", "nodes": []}]',
    ):
        path.write_text(other)
        assert not execution_trace.sniff(Opened(path))
