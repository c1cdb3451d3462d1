"""Which steps count, and which step an event belongs to."""

import pytest
from made_traces import Made

from paceline.model import ModelError, Trace
from paceline.stitch.steps import whole


def steady(worker: int, counts: dict[int, int]) -> Trace:
    """So many events in each step, on one lane, one after the other."""
    made, now = Made(worker), 0
    for step, count in counts.items():
        for _ in range(count):
            made.add("op", now, now + 8, step=step)
            now += 10
    return made.trace()


def steps_of(trace: Trace) -> list[int | None]:
    return [event.step for event in trace]


def test_steps_of_all_workers_count() -> None:
    found = whole([steady(0, {3: 5, 4: 5, 5: 5}), steady(1, {4: 5, 5: 5, 6: 5})])
    assert found.kept == (4, 5)
    assert [(note.code, note.count) for note in found.notes] == [("unshared-steps", 2)]


def test_steps_that_the_window_cut_are_left_out() -> None:
    found = whole([steady(0, {0: 10, 1: 20, 2: 20, 3: 21, 4: 17})])
    assert found.kept == (1, 2, 3)
    assert [note.code for note in found.notes] == ["partial-step", "partial-step"]
    assert "step 0" in found.notes[0].text


def test_a_short_step_in_the_middle_is_no_cut() -> None:
    assert whole([steady(0, {0: 20, 1: 5, 2: 20})]).kept == (0, 1, 2)


@pytest.mark.parametrize(("counts", "kept"), [({0: 7, 1: 10}, (0, 1)), ({0: 4, 1: 10}, (1,))])
def test_of_two_steps_only_a_much_shorter_one_is_cut(
    counts: dict[int, int], kept: tuple[int, ...]
) -> None:
    assert whole([steady(0, counts)]).kept == kept


def test_without_marks_the_recording_is_one_step() -> None:
    found = whole([steady(0, {-1: 4}), steady(1, {-1: 4})])
    assert found.kept == (0,)
    assert steps_of(found.traces[0]) == [0, 0, 0, 0]
    assert [note.code for note in found.notes] == ["no-steps", "no-steps"]


def test_a_worker_without_marks_has_no_part_in_the_steps_of_the_others() -> None:
    found = whole([steady(0, {1: 4, 2: 4}), steady(1, {-1: 4})])
    assert found.kept == (1, 2)
    assert [(note.code, note.worker) for note in found.notes] == [("no-steps", 1)]


def test_a_worker_that_shares_no_step_is_left_out() -> None:
    found = whole([steady(0, {1: 4, 2: 4}), steady(1, {8: 4}), steady(2, {2: 4, 1: 4})])
    assert found.kept == (1, 2)
    assert [(note.code, note.worker) for note in found.notes][:1] == [("no-shared-step", 1)]


def test_no_step_at_all_is_an_error() -> None:
    made = Made()
    made.add("op", 0, None, step=-1)
    traces = [made.trace(), steady(1, {})]
    assert whole(traces[:1]).kept == (0,)
    with pytest.raises(ModelError, match="mark them"):
        whole(traces[1:])


def test_between_two_steps_belongs_to_the_next() -> None:
    made = Made()
    made.add("before all", -50, -40, step=-1)
    made.add("op", 0, 10, step=1)
    made.add("next batch", 11, 15, step=-1)
    made.add("reads on", 13, 30, step=-1)
    made.add("op", 20, 30, step=2)
    made.add("after all", 40, 50, step=-1)
    found = whole([made.trace()])
    assert steps_of(found.traces[0]) == [None, 1, 2, None, 2, None]
    assert [(note.code, note.count) for note in found.notes] == [("outside-steps", 3)]


def test_what_a_step_launched_belongs_to_it() -> None:
    made = Made()
    launch = made.add("launch", 0, 10, step=1)
    made.add("op", 20, 30, step=2)
    made.add("kernel", 22, 25, step=-1, lane="stream", after=(launch,))
    made.add("late kernel", 90, 95, step=-1, lane="stream", after=(launch,))
    found = whole([made.trace()])
    assert steps_of(found.traces[0]) == [1, 2, 1, 1]
    assert "outside-steps" not in {note.code for note in found.notes}
