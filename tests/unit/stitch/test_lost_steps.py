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
    lost = [Lost(trace=0, first_ns=3 * MS, last_ns=2**62)]
    kept, (note,) = without(lost, [trace()], (1, 2, 3, 4, 5))
    assert kept == (1, 2)
    assert (note.code, note.count) == ("jumped-steps", 3)


def test_a_lost_part_between_steps_costs_none() -> None:
    lost = [Lost(trace=0, first_ns=3 * MS + 1, last_ns=4 * MS - 1)]
    assert without(lost, [trace()], (1, 2, 3, 4)) == ((1, 2, 3, 4), ())


def test_if_all_steps_are_lost_they_stay_and_a_note_says_so() -> None:
    lost = [Lost(trace=0, first_ns=-(2**62), last_ns=2 * MS),
            Lost(trace=0, first_ns=3 * MS, last_ns=2**62)]  # fmt: skip
    kept, (note,) = without(lost, [trace()], (1, 2, 3, 4))
    assert kept == (1, 2, 3, 4)
    assert "stay" in note.text
