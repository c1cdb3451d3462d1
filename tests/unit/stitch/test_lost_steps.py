"""Steps on the worthless side of a clock's jump."""

from made_traces import MS, Made

from paceline.model import Trace
from paceline.stitch.alignments import Lost
from paceline.stitch.lost_steps import without


def trace() -> Trace:
    made = Made()
    for step in range(6):
        made.add("work", step * MS, step * MS + MS // 2, step=step)
    made.add("timeless", 0, None, step=5)
    return made.trace()


def test_nothing_lost_leaves_all() -> None:
    assert without((), [trace()], (1, 2)) == ((1, 2), ())


def test_steps_with_an_event_in_the_lost_part_go() -> None:
    lost = [Lost(trace=0, first_ns=3 * MS, last_ns=2**62, ahead_ns=-MS)]
    kept, (note,) = without(lost, [trace()], (1, 2, 3, 4, 5))
    assert kept == (1, 2)
    assert (note.code, note.count) == ("jumped-steps", 3)


def test_a_lost_part_between_steps_costs_none() -> None:
    lost = [Lost(trace=0, first_ns=3 * MS + 1, last_ns=4 * MS - 1, ahead_ns=-MS)]
    assert without(lost, [trace()], (1, 2, 3, 4)) == ((1, 2, 3, 4), ())


def test_if_all_steps_are_lost_they_stay_and_a_note_says_so() -> None:
    lost = [Lost(trace=0, first_ns=-(2**62), last_ns=2 * MS, ahead_ns=-MS),
            Lost(trace=0, first_ns=3 * MS, last_ns=2**62, ahead_ns=-MS)]  # fmt: skip
    kept, (note,) = without(lost, [trace()], (1, 2, 3, 4))
    assert kept == (1, 2, 3, 4)
    assert "stay" in note.text


def test_a_jump_that_is_short_beside_a_step_costs_none() -> None:
    made = Made()
    for step in range(4):
        made.add("first", 10 * MS * step, 10 * MS * step + MS, step=step)
        made.add("last", 10 * MS * step + 8 * MS, 10 * MS * step + 9 * MS, step=step)
    short = Lost(trace=0, first_ns=10 * MS, last_ns=2**62, ahead_ns=50_000.0)
    assert without([short], [made.trace()], (0, 1, 2, 3)) == ((0, 1, 2, 3), ())
    long = Lost(trace=0, first_ns=10 * MS, last_ns=2**62, ahead_ns=500_000.0)
    assert without([long], [made.trace()], (0, 1, 2, 3))[0] == (0,)


def test_a_trace_without_steps_loses_none() -> None:
    made = Made()
    made.add("work", 0, MS, step=-1)
    lost = Lost(trace=0, first_ns=0, last_ns=2**62, ahead_ns=1e9)
    assert without([lost], [made.trace()], (0, 1)) == ((0, 1), ())
