"""Spans cut into pieces: what stays itself, what merges, and that nothing overlaps."""

import itertools

import numpy as np
import pytest
from made_traces import Made

from paceline.model import Kind, Trace
from paceline.stitch import flatten
from paceline.stitch.nest import DEEPEST

COMPUTE, COLLECTIVE, SEND = Kind.COMPUTE, Kind.COLLECTIVE, Kind.SEND


def cut(trace: Trace, *others: Trace, steps: tuple[int, ...] = (0,)) -> flatten.Pieces:
    return flatten.pieces(trace, steps, flatten.linked([trace, *others])[0])


def shown(trace: Trace, found: flatten.Pieces) -> list[tuple[str, str, int, int]]:
    """(lane, name, start, end) of each piece."""
    return [
        (found.lanes[lane], trace.event(int(event)).name, int(start), int(end))
        for lane, event, start, end in zip(
            found.lane, found.event, found.start_ns, found.end_ns, strict=True
        )
    ]


def test_calls_inside_calls_are_the_outermost() -> None:
    made = Made()
    made.add("linear", 0, 100)
    made.add("addmm", 10, 90)
    made.add("copy", 20, 30)
    made.add("relu", 100, 120)
    trace = made.trace()
    found = cut(trace)
    assert shown(trace, found) == [("main", "linear", 0, 100), ("main", "relu", 100, 120)]
    assert found.last.tolist() == [0, -1, -1, 1]
    assert found.notes == ()


def test_a_launch_divides_the_call_around_it() -> None:
    made = Made()
    made.add("linear", 0, 100)
    made.add("addmm", 10, 90)
    launch = made.add("launch", 40, 50)
    made.add("copy", 60, 70)
    made.add("kernel", 60, 85, lane="stream 7", kind=COMPUTE, after=(launch,))
    trace = made.trace()
    found = cut(trace)
    assert shown(trace, found) == [
        ("main", "linear", 0, 40), ("main", "launch", 40, 50), ("main", "linear", 50, 100),
        ("stream 7", "kernel", 60, 85),
    ]  # fmt: skip
    assert found.last.tolist() == [2, -1, 1, -1, 3]


def test_a_piece_without_length_stays_so_that_all_steps_look_alike() -> None:
    made = Made()
    made.add("linear", 0, 50)
    made.add("launch", 0, 50)
    made.add("kernel", 60, 85, lane="stream 7", kind=COMPUTE, after=(1,))
    trace = made.trace()
    assert shown(trace, cut(trace))[:3] == [
        ("main", "linear", 0, 0), ("main", "launch", 0, 50), ("main", "linear", 50, 50)
    ]  # fmt: skip


def test_launches_inside_a_call_that_is_met_itself() -> None:
    made = Made()
    made.add("hook", 0, 100)
    issue = made.add("issue", 10, 80)
    launch = made.add("launch", 30, 40)
    made.add("launch", 50, 60)
    made.add("kernel", 45, 65, lane="s", kind=COMPUTE, after=(launch,))
    made.add("kernel", 65, 70, lane="s", kind=COMPUTE, after=(3,))
    made.add("reduce", 90, 95, lane="comm", kind=COLLECTIVE, after=(issue,))
    trace = made.trace()
    names = [row[1:] for row in shown(trace, cut(trace)) if row[0] == "main"]
    assert names == [
        ("hook", 0, 10), ("issue", 10, 30), ("launch", 30, 40), ("issue", 40, 50),
        ("launch", 50, 60), ("issue", 60, 80), ("hook", 80, 100),
    ]  # fmt: skip


def test_order_on_a_lane_needs_no_cut() -> None:
    made = Made()
    made.add("outer", 0, 100)
    first = made.add("inner", 10, 20)
    made.add("inner", 30, 40, after=(first,))
    trace = made.trace()
    assert shown(trace, cut(trace)) == [("main", "outer", 0, 100)]


def test_what_another_worker_waits_for_stays_itself() -> None:
    made, other = Made(0), Made(1)
    made.add("outer", 0, 100)
    made.add("inner", 10, 20)
    other.add("waits", 30, 40, after=((0, 1), (5, 0), (0, 99)))
    trace = made.trace()
    names = [row[1] for row in shown(trace, cut(trace, other.trace()))]
    assert names == ["outer", "inner", "outer"]


def test_noise_of_the_clock_moves_a_start() -> None:
    made = Made()
    made.add("a", 0, 1001)
    made.add("b", 1000, 2000)
    made.add("inside b", 1000, 1500)
    trace = made.trace()
    found = cut(trace)
    assert shown(trace, found) == [("main", "a", 0, 1001), ("main", "b", 1001, 2000)]
    assert found.notes == ()


def test_a_call_that_outlasts_a_call_it_began_in_is_cut_there() -> None:
    made = Made()
    made.add("outer", 0, 1000)
    made.add("first", 100, 500)
    made.add("second", 490, 600)
    made.add("kernel", 700, 900, lane="s", kind=COMPUTE, after=(1, 2))
    trace = made.trace()
    names = [row[1:] for row in shown(trace, cut(trace)) if row[0] == "main"]
    assert names == [
        ("outer", 0, 100), ("first", 100, 490), ("second", 490, 500), ("first", 500, 500),
        ("outer", 500, 1000),
    ]  # fmt: skip


def test_on_a_device_what_overlaps_is_in_order_of_its_ends() -> None:
    made = Made()
    launches = [made.add("launch", 10 * at, 10 * at + 5) for at in range(3)]
    made.add("a", 20, 100, lane="s", kind=COMPUTE, after=(launches[0],))
    made.add("b", 40, 60, lane="s", kind=COMPUTE, after=(launches[1],))
    made.add("c", 90, 130, lane="s", kind=COMPUTE, after=(launches[2],))
    trace = made.trace()
    found = cut(trace)
    assert [row for row in shown(trace, found) if row[0] == "s"] == [
        ("s", "b", 40, 60), ("s", "a", 60, 100), ("s", "c", 100, 130)
    ]  # fmt: skip
    assert [note.code for note in found.notes] == ["overlap"]


def test_a_lane_of_crossing_spans_does_not_nest() -> None:
    made = Made()
    for at in range(5):
        made.add(f"x{at}", 10 * at, 10 * at + 25)
    trace = made.trace()
    found = cut(trace)
    assert shown(trace, found) == [
        ("main", "x0", 0, 25), ("main", "x1", 25, 35), ("main", "x2", 35, 45),
        ("main", "x3", 45, 55), ("main", "x4", 55, 65),
    ]  # fmt: skip
    assert [note.code for note in found.notes] == ["overlap"]


def test_inside_a_collective_is_a_lane_of_its_own() -> None:
    made = Made()
    made.add("forward", 0, 10)
    made.add("forward", 10, 20)
    made.add("reduce", 20, 100, kind=COLLECTIVE)
    poll = made.add("poll", 30, 90)
    made.add("deep", 40, 50, kind=SEND)
    made.add("kernel", 92, 95, lane="s", kind=COMPUTE, after=(poll,))
    made.add("update", 100, 120)
    trace = made.trace()
    found = cut(trace)
    assert found.lanes == ("main", "s", "main inside")
    assert shown(trace, found) == [
        ("main", "forward", 0, 10), ("main", "forward", 10, 20), ("main", "reduce", 20, 100),
        ("main", "update", 100, 120), ("s", "kernel", 92, 95),
        ("main inside", "deep", 40, 50), ("main inside", "poll", 50, 90),
    ]  # fmt: skip


def test_an_event_that_never_ended_has_no_length() -> None:
    made = Made()
    made.add("a", 0, 10)
    made.add("hang", 20, None, kind=COLLECTIVE, lane="comm")
    trace = made.trace()
    found = cut(trace)
    assert shown(trace, found)[1] == ("comm", "hang", 20, 20)
    assert [(note.code, note.count) for note in found.notes] == [("no-end", 1)]


def test_only_the_given_steps_and_each_for_itself() -> None:
    made = Made()
    for step in (4, 9, 6):  # clocks of steps may start over
        made.add("outer", 0, 100, step=step)
        made.add("inner", 50, 60, step=step)
    trace = made.trace()
    found = cut(trace, steps=(9, 4))
    assert shown(trace, found) == [("main", "outer", 0, 100)] * 2
    assert found.step.tolist() == [0, 1]
    assert found.event.tolist() == [0, 2]


def test_a_marker_without_length_stays() -> None:
    made = Made()
    made.add("a", 0, 10)
    made.add("mark", 12, 12)
    made.add("b", 15, 20)
    made.add("first thing in b", 15, 15)
    trace = made.trace()
    assert [row[1] for row in shown(trace, cut(trace))] == ["a", "mark", "b"]


def test_calls_deeper_than_any_stack_belong_to_their_ancestor() -> None:
    made, other = Made(), Made(1)
    deep = DEEPEST + 40
    for level in range(deep):
        made.add(f"call {level}", level, 2 * deep - level)
    other.add("waits", 0, 1, after=tuple((0, level) for level in range(deep)))
    trace = made.trace()
    found = cut(trace, other.trace())
    assert len(found) == 2 * DEEPEST - 1
    assert (found.last[DEEPEST:] == -1).all()
    assert (np.diff(found.start_ns) >= 0).all()


@pytest.mark.parametrize("steps", [(), (7,)])
def test_no_event_no_piece(steps: tuple[int, ...]) -> None:
    made = Made()
    made.add("a", 0, 10)
    assert len(cut(made.trace(), steps=steps)) == 0


def test_starts_that_keep_crossing_settle() -> None:
    """Each moved start may cross the next span; what still crosses at last is cut."""
    made = Made()
    made.add("long", 0, 10**6)
    for at in range(40):
        made.add("small", 10**6 - 40 + at, 10**6 - 38 + at)
    trace = made.trace()
    found = cut(trace)
    rows = shown(trace, found)
    assert all(a[3] <= b[2] for a, b in itertools.pairwise(rows))
    assert rows[-1][3] == 10**6 + 1
