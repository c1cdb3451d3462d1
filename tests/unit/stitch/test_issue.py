"""The calls that issued the collectives of another thread."""

from collections.abc import Callable

import pytest
from made_traces import MS, US, Made

from paceline.model import Kind, Trace
from paceline.stitch.issue import issued

Change = Callable[[Made, int], None]


def job(
    steps: int = 4, delay: int = 60 * US, lane: str = "thread 9", extra: Change | None = None
) -> Trace:
    """Backward with two hooks a step, each issuing a collective that a thread runs in order."""
    made = Made()
    for step in range(steps):
        now, free = step * 100 * MS, 0
        for hook in range(2):
            begin = now + 10 * MS * (hook + 1)
            made.add("gradient", begin - 5 * MS, begin - MS, step=step)
            made.add("hook", begin - MS, begin + 2 * MS, step=step)
            made.add("c10d::allreduce_", begin, begin + MS, step=step)
            start = max(begin + delay, free + 10 * US)
            free = start + 15 * MS
            made.add("gloo:all_reduce", start, free, step=step, kind=Kind.COLLECTIVE, lane=lane)
        if extra is not None:
            extra(made, step)
    return made.trace()


def links(trace: Trace) -> set[tuple[str, str]]:
    return {(event.name, trace.event(target).name) for event in trace for _, target in event.after}


def test_the_call_that_comes_as_often_and_just_before_is_the_issuer() -> None:
    trace = issued(job())
    assert links(trace) == {("gloo:all_reduce", "c10d::allreduce_")}
    assert [event.after for event in trace if event.kind == Kind.COLLECTIVE][:2] == [
        ((0, 2),), ((0, 6),)
    ]  # fmt: skip


def more_calls(made: Made, step: int) -> None:
    if step == 2:
        for name in ("c10d::allreduce_", "hook", "gradient"):
            made.add(name, 250 * MS, 251 * MS, step=step)


def linked_already(made: Made, step: int) -> None:
    made.add("issue", 90 * MS, 91 * MS, step=step)
    made.add("tied", 92 * MS, 93 * MS, step=step, kind=Kind.COLLECTIVE, lane="t", after=(0,))


@pytest.mark.parametrize(
    "trace",
    [
        job(extra=more_calls),
        job(delay=3 * MS),
        job(lane="main"),
        job(delay=-20 * MS),
        job(steps=0),
    ],
    ids=["not as often", "too late", "one lane", "before every call", "nothing"],
)
def test_nothing_is_guessed(trace: Trace) -> None:
    assert issued(trace) is trace


def test_a_span_that_is_tied_needs_no_issuer() -> None:
    trace = issued(job(extra=linked_already))
    assert ("tied", "issue") not in links(trace)
    assert ("gloo:all_reduce", "c10d::allreduce_") in links(trace)


@pytest.mark.parametrize(("steps", "found"), [(2, set()), (3, {("reduce", "other call")})])
def test_what_happened_once_or_twice_may_be_chance(steps: int, found: set[tuple[str, str]]) -> None:
    made = Made()
    for step in range(steps):
        now = step * 10 * MS
        made.add("call", now, now + 10 * US, step=step)
        made.add("other call", now + 5 * US, now + 10 * US, step=step)
        made.add("reduce", now + 30 * US, now + MS, kind=Kind.COLLECTIVE, lane="comm", step=step)
    assert links(issued(made.trace())) == found


def test_work_that_begins_at_the_very_moment_of_a_collective_did_not_issue_it() -> None:
    made = Made()
    for step in range(4):
        now = step * 100 * MS
        made.add("backward", now, now + 30 * MS, step=step, lane="stream 7")
        made.add("reduce", now, now + 10 * MS, kind=Kind.COLLECTIVE, lane="comm", step=step)
    assert links(issued(made.trace())) == set()


def test_a_call_of_another_step_is_no_issuer() -> None:
    made = Made()
    made.add("call", 0, 10 * US, step=0)
    made.add("call", 20 * US, 25 * US, step=1)
    made.add("call", 100 * US, 105 * US, step=2)
    made.add("reduce", 30 * US, 40 * US, kind=Kind.COLLECTIVE, lane="comm", step=1)
    made.add("reduce", 50 * US, 60 * US, kind=Kind.COLLECTIVE, lane="comm", step=0)
    made.add("reduce", 110 * US, 120 * US, kind=Kind.COLLECTIVE, lane="comm", step=2)
    assert links(issued(made.trace())) == set()
