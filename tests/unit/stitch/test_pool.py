"""Steady lanes for the calls of a pool of threads."""

from made_traces import Made

from paceline.model import UNKNOWN, Kind, Trace
from paceline.stitch.pool import unpooled


def pool(steps: list[list[tuple[str, int, int, int]]], sizes: bool = True) -> Trace:
    """Steps of calls (lane, size, start, end), and a main lane."""
    made = Made()
    for step, calls in enumerate(steps):
        made.add("op", 1000 * step, 1000 * step + 10, step=step)
        for lane, size, start, end in calls:
            made.add("reduce", 1000 * step + start, 1000 * step + end, lane=lane, step=step,
                     kind=Kind.COLLECTIVE, size_bytes=size if sizes else -1)  # fmt: skip
    return made.trace()


def lanes(trace: Trace) -> list[str]:
    return [event.lane for event in trace if event.kind == Kind.COLLECTIVE]


A, B = "thread 5", "thread 6"


def test_calls_stay_on_one_lane_in_all_steps() -> None:
    trace = pool([
        [(A, 1, 0, 50), (B, 2, 10, 90), (A, 3, 60, 80)],
        [(B, 1, 0, 50), (A, 2, 10, 90), (B, 3, 60, 80)],
        [(A, 1, 0, 50), (B, 2, 10, 40), (B, 3, 60, 80)],
    ])  # fmt: skip
    assert lanes(unpooled(trace)) == [A, B, A] * 3


def test_the_vote_of_most_steps_counts() -> None:
    steps = [
        [(A, 1, 0, 50), (B, 2, 60, 90)],
        [(A, 1, 0, 50), (B, 2, 10, 90)],
        [(B, 1, 0, 50), (A, 2, 10, 90)],
    ]
    assert lanes(unpooled(pool(steps))) == [A, B] * 3


def test_more_calls_at_once_than_lanes_wait_for_the_first_to_be_free() -> None:
    steps = [
        [(A, 1, 0, 50), (B, 2, 5, 90), (A, 3, 20, 99)],
        [(B, 1, 0, 50), (A, 2, 5, 90), (B, 3, 20, 99)],
    ]
    assert lanes(unpooled(pool(steps))) == [A, B, A] * 2


def test_lanes_that_always_do_the_same_are_no_pool() -> None:
    trace = pool([[(A, 1, 0, 50), (B, 2, 60, 90)]] * 3)
    assert unpooled(trace) is trace


def test_one_restless_lane_is_no_pool() -> None:
    trace = pool([[(A, 1, 0, 50), (B, 2, 60, 90)], [(A, 9, 0, 50), (B, 2, 60, 90)]])
    assert unpooled(trace) is trace
    assert unpooled(pool([[], []])).lanes == ("main",)


def test_calls_that_never_ended_are_laid_too() -> None:
    made = Made()
    for step, (one, two) in enumerate([(A, B), (B, A)]):
        made.add(
            "reduce", 1000 * step, None, lane=one, step=step, kind=Kind.COLLECTIVE, size_bytes=1
        )
        made.add("reduce", 1000 * step + 9, 1000 * step + 20, lane=two, step=step,
                 kind=Kind.COLLECTIVE, size_bytes=2)  # fmt: skip
    made.builder.add("lost", Kind.COLLECTIVE, A, UNKNOWN, step=1)
    assert lanes(unpooled(made.trace()))[:4] == [A, A, A, A]
