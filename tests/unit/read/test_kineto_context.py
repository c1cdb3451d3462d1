"""Step, phase, layer and kind of events by what lies around them."""

from pathlib import Path

import pytest
from made_kineto import ENGINE, MAIN, OTHER, STREAM, Made

from paceline.model import Event, Kind, Phase

PASSES = "autograd::engine::evaluate_function: "


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def by_name(made: Made) -> dict[str, Event]:
    return {event.name: event for event in made.events()}


def test_steps_are_the_annotations_in_which_events_begin(made: Made):
    made.mark("ProfilerStep#8", 200, 100).mark("ProfilerStep#7", 100, 100)
    for name, start in (("early", 99), ("first", 100), ("last", 199), ("next", 200), ("late", 300)):
        made.op(name, start, 500)
    made.op("elsewhere", 250, 1, ENGINE)
    steps = {name: event.step for name, event in by_name(made).items()}
    assert steps == {
        "early": None, "first": 7, "last": 7, "next": 8, "late": None, "elsewhere": 8,
    }  # fmt: skip


def test_a_device_event_belongs_to_the_step_that_launched_it(made: Made):
    made.mark("ProfilerStep#1", 0, 100).mark("ProfilerStep#2", 100, 100)
    made.call("cudaLaunchKernel", 90, 5, 31).kernel("launched", 120, 10, 31)
    made.kernel("orphan", 140, 10, 77)
    found = by_name(made)
    assert found["launched"].step == 1
    assert found["launched"].phase == Phase.FORWARD
    assert found["orphan"].step == 2
    assert found["orphan"].phase == Phase.OTHER


def test_phases(made: Made):
    made.mark("ProfilerStep#1", 0, 1000)
    made.mark("enumerate(DataLoader)#_X.__next__", 1, 50).op("collate", 10, 5)
    made.op("forward", 100, 10)
    made.op(PASSES + "A", 200, 50, ENGINE).op("inside", 210, 5, ENGINE).op(
        "between", 260, 5, ENGINE
    )
    made.mark("Optimizer.step#SGD.step", 400, 100).op("add", 410, 5).op("after", 501, 5)
    made.op("outside", 2000, 5)
    phases = {name: event.phase for name, event in by_name(made).items()}
    assert phases == {
        "enumerate(DataLoader)#_X.__next__": Phase.OTHER, "collate": Phase.OTHER,
        "forward": Phase.FORWARD, PASSES + "A": Phase.BACKWARD, "inside": Phase.BACKWARD,
        "between": Phase.BACKWARD, "add": Phase.UPDATE, "after": Phase.FORWARD,
        "outside": Phase.OTHER,
    }  # fmt: skip


def test_on_one_thread_only_what_is_inside_is_backward(made: Made):
    made.op("forward", 0, 10).op(PASSES + "A", 20, 30).op("inside", 30, 5).op("between", 60, 5)
    phases = {name: event.phase for name, event in by_name(made).items()}
    assert phases["inside"] == Phase.BACKWARD
    assert phases["forward"] == phases["between"] == Phase.FORWARD


def test_without_any_step_all_is_inside(made: Made):
    assert by_name(made.op("a", 5, 5))["a"].phase == Phase.FORWARD
    assert by_name(made)["a"].step is None


def test_layers_are_the_innermost_module_or_scope_of_the_user(made: Made):
    made.span("python_function", "nn.Module: Net_0", 0, 100)
    made.span("python_function", "nn.Module: Linear_1", 10, 20)
    made.span("python_function", "train.py(1): main", 0, 900)
    made.mark("my scope", 40, 20).mark("DistributedDataParallel.forward", 41, 10)
    for name, start in (("a", 5), ("b", 10), ("c", 29), ("d", 30), ("e", 45), ("f", 100)):
        made.op(name, start, 1)
    layers = {name: event.layer for name, event in by_name(made).items()}
    assert layers == {
        "a": "Net_0", "b": "Linear_1", "c": "Linear_1", "d": "Net_0", "e": "my scope", "f": None,
    }  # fmt: skip


def test_a_scope_that_outlasts_the_one_around_it_is_cut(made: Made):
    made.mark("outer", 0, 10).mark("inner", 5, 20)
    for name, start in (("a", 6), ("b", 12), ("c", 26)):
        made.op(name, start, 1)
    assert {name: event.layer for name, event in by_name(made).items()} == {
        "a": "inner", "b": None, "c": None,
    }  # fmt: skip


def test_scopes_of_one_thread_say_nothing_of_another(made: Made):
    made.mark("mine", 0, 100).op("a", 5, 5).op("b", 5, 5, ENGINE)
    assert by_name(made)["b"].layer is None


def test_backward_belongs_to_the_layer_of_its_forward(made: Made):
    made.mark("block", 0, 50).op("linear", 10, 10, Sequence_number=3)
    made.op("again", 60, 5, Sequence_number=4)
    made.op(PASSES + "A", 100, 50, ENGINE, Sequence_number=3, Fwd_thread_id=1)
    made.op("mm", 110, 5, ENGINE).mark("own", 120, 20, ENGINE).op("inner", 125, 5, ENGINE)
    made.op(PASSES + "B", 160, 20, ENGINE, Sequence_number=4, Fwd_thread_id=1)
    made.op(PASSES + "C", 190, 20, ENGINE, Sequence_number=99, Fwd_thread_id=1)
    made.op(PASSES + "D", 220, 20, ENGINE)
    layers = {name: event.layer for name, event in by_name(made).items()}
    assert layers["mm"] == layers[PASSES + "A"] == "block"
    assert layers["inner"] == "own"
    assert layers[PASSES + "B"] is layers[PASSES + "C"] is layers[PASSES + "D"] is None


def test_without_a_device_operators_compute(made: Made):
    made.op("mm", 0, 5).mark("nccl:all_reduce", 10, 5, Input_Dims=[[3]], Input_type=["float"])
    kinds = {name: event.kind for name, event in by_name(made).items()}
    assert kinds == {"mm": Kind.COMPUTE, "all_reduce": Kind.COLLECTIVE}
    made.kernel("k", 3, 5, 1)
    assert {name: event.kind for name, event in by_name(made).items()} == {
        "mm": Kind.HOST, "k": Kind.COMPUTE,
    }  # fmt: skip


def test_what_never_ended_has_no_duration(made: Made):
    made.op("a", 0, 5, finished=False).op("b", 0, 5, finished="false").op("c", 0, 5, finished=True)
    assert [event.duration_ns for event in made.events()] == [None, None, 5000]


def test_records(made: Made):
    made.op("a", 0, 5, External_id=9, Record_function_id=0).op("b", 0, 5, External_id="10")
    assert [event.record for event in made.events()] == [9, 10]
    made.op("c", 0, 5, External_id=11, Record_function_id=7).op("d", 0, 5)
    assert [event.record for event in made.events()] == [None, None, 7, None]


def test_lanes(made: Made):
    made.op("a", 0, 5, MAIN).op("b", 0, 5, ENGINE).op("c", 0, 5, (2, 1)).op("d", 0, 5, (3, "x"))
    made.thread("thread 2 (engine)", ENGINE).thread("again", ENGINE)
    made.kernel("k", 0, 5, 1, STREAM).kernel("l", 0, 5, 2, (0, "stream 20"))
    lanes = {name: event.lane for name, event in by_name(made).items()}
    assert lanes == {
        "a": "thread 1 (process 1, thread 1)", "b": "thread 2 (engine)",
        "c": "thread 1 (process 2, thread 1)", "d": "thread x", "k": "stream 7", "l": "stream 20",
    }  # fmt: skip
    made.kernel("m", 0, 5, 3, (1, 7))
    assert by_name(made)["k"].lane == "gpu 0 stream 7"
    assert by_name(made)["m"].lane == "gpu 1 stream 7"


def test_sizes_of_copies_only(made: Made):
    made.span("gpu_memcpy", "copy", 0, 5, STREAM, bytes=64).span("gpu_memset", "set", 9, 5, STREAM)
    made.kernel("k", 20, 5, 1, OTHER, bytes=7)
    assert [event.size_bytes for event in made.events()] == [64, None, None]


def test_spans_of_gloo_on_threads_of_its_own(made: Made):
    gloo = (1, 9)
    made.op(PASSES + "A", 0, 50).op("c10d::allreduce_", 10, 5)
    made.mark("gloo:all_reduce", 20, 100, gloo, Input_Dims=[[4]], Input_type=["float"])
    made.op("aten::view", 30, 5, gloo)
    found = by_name(made)
    assert "aten::view" not in found  # what gloo does inside is part of the collective
    assert found["all_reduce"].phase == Phase.BACKWARD
    assert found["all_reduce"].lane == "thread 9"
    assert found["all_reduce"].after == ((0, 1),)
    assert found["all_reduce"].size_bytes == 16


def test_spans_of_gloo_that_are_booked_to_their_caller_get_lanes(made: Made):
    made.op("c10d::allreduce_", 0, 5).mark("gloo:all_reduce", 2, 100)
    made.op("c10d::allreduce_", 10, 5).mark("gloo:all_reduce", 12, 50)
    made.op("c10d::recv_", 20, 5, Concrete_Inputs=["", "", "3"]).mark("gloo:recv", 22, 50)
    made.op("mm", 300, 5)
    talks = [event for event in made.events() if event.kind != Kind.COMPUTE]
    assert [(event.lane, event.name, event.peer) for event in talks] == [
        ("gloo", "all_reduce", None), ("gloo 2", "all_reduce", None), ("gloo recv", "recv", 3),
    ]  # fmt: skip
    assert [event.kind for event in talks] == [Kind.COLLECTIVE, Kind.COLLECTIVE, Kind.RECV]


def test_the_only_group_of_a_job_is_that_of_all_its_collectives(tmp_path: Path):
    groups = [{"pg_name": "0", "ranks": [0, 1]}]
    info = {"backend": "gloo", "rank": 0, "world_size": 2, "pg_count": 1, "pg_config": groups}
    made = Made(tmp_path, distributedInfo=info).mark("gloo:barrier", 0, 5)
    assert made.events()[0].group == "0"
    info["pg_config"] = [*groups, {"pg_name": "1", "ranks": [0]}]
    assert Made(tmp_path, distributedInfo=info).mark("gloo:barrier", 0, 5).events()[0].group is None
