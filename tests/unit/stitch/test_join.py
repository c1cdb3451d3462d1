"""All traces in, one a worker out."""

import dataclasses

import numpy as np
import pytest
from made_traces import MS, US, Made

from paceline.model import (
    UNKNOWN,
    Group,
    Kind,
    ModelError,
    Norms,
    Note,
    Ping,
    Source,
    Trace,
    TraceBuilder,
)
from paceline.stitch import join


def timeline(worker: int = 0, start: int = 0, tool: str = "profiler", **facts: object) -> Trace:
    made = Made(worker)
    made.add("forward", start, start + 2 * MS, record=5)
    made.add("reduce", start + MS, start + 2 * MS, kind=Kind.COLLECTIVE, lane="comm")
    made.add("update", start + 2 * MS, start + 3 * MS, record=6)
    return made.trace(tool=tool, **facts)


def hops(worker: int = 0, lane: str = "comm", clock: str = "unix") -> Trace:
    made = Made(worker)
    made.add("hop", MS, MS + 9, kind=Kind.SEND, lane=lane, peer=1, chunk=0, round=0, sequence=0)
    made.add(
        "hop", MS + 9, MS + 30, kind=Kind.RECV, lane=lane, peer=1, chunk=1, round=0, after=(0,)
    )
    return made.trace(tool="transport", clock=clock)


def test_workers_come_out_by_rank_and_the_missing_are_named() -> None:
    joined = join.workers([timeline(2, workers=4), timeline(0, workers=4)])
    assert [trace.worker for trace in joined.traces] == [0, 2]
    assert joined.missing == (1, 3)


def test_groups_and_peers_tell_of_workers_too() -> None:
    made = Made(1)
    made.add("x", 0, 9, kind=Kind.COLLECTIVE, group=("dp", (0, 1, 4)))
    made.add("y", 9, 12, kind=Kind.SEND, peer=7)
    assert join.workers([made.trace()]).missing == (0, 4, 7)


def test_a_boundless_claim_of_workers_is_not_listed_in_full() -> None:
    assert len(join.workers([timeline(0, workers=10**12)]).missing) <= 10**6


def test_hops_join_on_lanes_of_their_own() -> None:
    (trace,) = join.workers([hops(), timeline()]).traces
    assert [event.name for event in trace] == ["forward", "reduce", "update", "hop", "hop"]
    assert [event.lane for event in trace][-2:] == ["comm hops", "comm hops"]
    assert trace.event(4).after == ((0, 3),)
    (apart,) = join.workers([hops(lane="to 1"), timeline()]).traces
    assert apart.event(3).lane == "to 1"


def test_links_to_another_worker_follow_its_events() -> None:
    one = Made(1)
    one.add("hop", MS, MS + 9, kind=Kind.RECV, peer=0, chunk=0, round=0, after=((0, 0),))
    traces = join.workers([timeline(0), hops(0), one.trace(tool="transport")]).traces
    assert traces[1].event(0).after == ((0, 3),)


def test_a_recorder_gives_keys_and_an_execution_trace_dependencies() -> None:
    keys, execution = Made(), Made()
    keys.add("reduce", MS - US, None, kind=Kind.COLLECTIVE, group="dp", sequence=41)
    execution.builder.add("forward", Kind.HOST, "t", UNKNOWN, record=5)
    execution.builder.add("update", Kind.HOST, "t", UNKNOWN, record=6, after=[(0, 0)])
    joined = join.workers(
        [keys.trace(tool="recorder"), execution.trace(clock=None, tool="observer"), timeline()]
    )
    (trace,) = joined.traces
    assert len(trace) == 3
    assert (trace.event(1).group, trace.event(1).sequence) == ("dp", 41)
    assert trace.event(2).after == ((0, 0),)
    assert joined.notes == ()


def test_what_a_recorder_and_an_observer_cannot_tell_is_noted() -> None:
    keys, execution = Made(), Made()
    keys.add("reduce", 90 * MS, None, kind=Kind.COLLECTIVE, group="dp", sequence=41)
    execution.builder.add("other", Kind.HOST, "t", UNKNOWN)
    joined = join.workers(
        [keys.trace(tool="recorder"), execution.trace(clock=None, tool="observer"), timeline()]
    )
    assert {note.code for note in joined.notes} == {"no-key", "not-joined"}


def test_a_dump_alone_is_a_timeline() -> None:
    keys = Made()
    keys.add("reduce", MS, None, kind=Kind.COLLECTIVE, group="dp", sequence=41)
    (trace,) = join.workers([keys.trace(tool="recorder")]).traces
    assert trace.event(0).sequence == 41
    two = join.workers([keys.trace(tool="recorder"), keys.trace(tool="other recorder")])
    assert len(two.traces[0]) == 2


def test_what_ran_on_another_clock_is_left_out_and_told() -> None:
    joined = join.workers([timeline(), hops(clock="boot")])
    assert len(joined.traces[0]) == 3
    assert [(note.code, note.worker, note.count) for note in joined.notes] == [
        ("other-clock", 0, 2)
    ]


def test_windows_of_one_profiler_follow_each_other() -> None:
    (trace,) = join.workers([timeline(start=50 * MS), timeline()]).traces
    assert len(trace) == 6


@pytest.mark.parametrize("other", [timeline(0), timeline(0, MS), timeline(0, 0)])
def test_one_rank_twice_is_refused(other: Trace) -> None:
    with pytest.raises(ModelError, match="worker 0") as caught:
        join.workers([timeline(0), other])
    assert "profiler-0.json" in str(caught.value)


def test_two_observers_of_one_worker_are_refused() -> None:
    execution = Made()
    execution.builder.add("other", Kind.HOST, "t", UNKNOWN)
    twice = [execution.trace(clock=None), execution.trace(clock=None)]
    with pytest.raises(ModelError, match="worker 0"):
        join.workers([timeline(), *twice])


def test_a_worker_without_events_is_missing() -> None:
    execution = Made(2)
    execution.builder.add("other", Kind.HOST, "t", UNKNOWN)
    joined = join.workers([timeline(0), Made(1).trace(), execution.trace(clock=None)])
    assert joined.missing == (1, 2)
    assert [(note.code, note.worker) for note in joined.notes] == [
        ("no-events", 1),
        ("no-events", 2),
    ]


@pytest.mark.parametrize("traces", [[], [Made().trace()]])
def test_nothing_to_join_is_an_error(traces: list[Trace]) -> None:
    with pytest.raises(ModelError, match="Record a few training steps"):
        join.workers(traces)


def transport(worker: int = 0) -> Trace:
    """Issue, a hop each way, and wait, without steps, as a transport stamps them."""
    build = TraceBuilder()
    build.add("issue", Kind.HOST, "thread 7", 1_200, 50, bucket=0)
    build.add("reduce", Kind.SEND, "to 1", 1_300, 100, bucket=0, chunk=0, round=0, peer=1)
    build.add("reduce", Kind.RECV, "from 1", 1_300, 100, bucket=0, chunk=0, round=0, peer=1)
    build.add("wait", Kind.HOST, "thread 7", 1_350, 80, bucket=0)
    return build.trace(worker, clock="unix", sources=(Source(path="hops.jsonl", tool="transport"),))


def profiled() -> Trace:
    """Two steps on a thread that the profiler gives a longer name."""
    build = TraceBuilder()
    for step, at in ((4, 1_000), (5, 2_000)):
        build.add("forward", Kind.COMPUTE, "thread 7 (python3)", at, 100, step=step)
        build.add("backward", Kind.COMPUTE, "thread 7 (python3)", at + 150, 300, step=step)
    return build.trace(0, clock="unix", sources=(Source(path="t.json", tool="kineto"),))


def test_issue_and_wait_of_a_transport_go_onto_the_lane_of_their_thread() -> None:
    (trace,) = join.workers([transport(), profiled()]).traces
    assert trace.lanes == ("thread 7 (python3)", "to 1", "from 1")
    lanes = {event.name: event.lane for event in trace}
    assert lanes["issue"] == lanes["wait"] == lanes["forward"]


def test_hops_take_the_step_that_was_under_way() -> None:
    (trace,) = join.workers([transport(), profiled()]).traces
    assert {event.step for event in trace if event.name in ("issue", "reduce", "wait")} == {4}


def test_hops_outside_of_the_recorded_steps_have_none() -> None:
    late = transport()
    late = dataclasses.replace(late, start_ns=late.start_ns + 10_000)
    (trace,) = join.workers([late, profiled()]).traces
    assert {event.step for event in trace if event.name == "reduce"} == {None}


@pytest.mark.parametrize(("clock", "pings"), [("unix", 1), ("boot", 0)])
def test_what_a_part_without_events_says_outweighs_the_timeline(clock: str, pings: int) -> None:
    ping = Ping(peer=1, sent_ns=1, peer_ns=2, received_ns=3)
    norms = Norms(step=np.array([4]), loss=np.ones(1), local=np.ones(1), average=np.ones(1))
    silent = dataclasses.replace(
        Made(0).trace(tool="recorder", clock=clock, machine="m1", peak_bytes=9),
        pings=(ping,), norms=norms, groups=(Group(name="0", members=(0, 1)),),
    )  # fmt: skip
    joined = join.workers([timeline(0, machine="host", device="cpu"), silent])
    (trace,) = joined.traces
    assert (len(trace), len(trace.pings)) == (3, pings)
    assert (trace.facts.machine, trace.facts.device, trace.facts.peak_bytes) == ("m1", "cpu", 9)
    assert trace.norms.step.tolist() == [4]
    assert joined.missing == (1,)
    assert joined.notes == ()


def test_notes_of_a_recorder_stay() -> None:
    keys = Made()
    keys.add("reduce", MS - US, None, kind=Kind.COLLECTIVE, group="dp", sequence=41)
    noted = dataclasses.replace(keys.trace(tool="recorder"), notes=(Note(code="x", text="y"),))
    assert [note.code for note in join.workers([noted, timeline()]).notes] == ["x"]
