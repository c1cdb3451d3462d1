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


def test_one_span_alone_is_judged_by_its_delay() -> None:
    made = Made()
    made.add("call", 0, 10 * US)
    made.add("other call", 5 * US, 10 * US)
    made.add("reduce", 30 * US, MS, kind=Kind.COLLECTIVE, lane="comm")
    assert links(issued(made.trace())) == {("reduce", "other call")}


def test_a_call_of_another_step_is_no_issuer() -> None:
    made = Made()
    made.add("call", 0, 10 * US, step=0)
    made.add("call", 20 * US, 25 * US, step=1)
    made.add("reduce", 30 * US, 40 * US, kind=Kind.COLLECTIVE, lane="comm", step=1)
    made.add("reduce", 50 * US, 60 * US, kind=Kind.COLLECTIVE, lane="comm", step=0)
    assert links(issued(made.trace())) == set()
