"""Dependencies of an execution trace on the timeline of its worker."""

import pytest
from made_traces import Made

from paceline.model import UNKNOWN, Kind, Trace, verify
from paceline.stitch.dependencies import depending


def timeline(records: tuple[int, ...] = (7, 8, 9)) -> Trace:
    made = Made()
    for turn, (name, record) in enumerate(zip("abc", records, strict=True)):
        made.add(name, 10 * turn, 10 * turn + 9, lane="thread 1", record=record)
    made.add("kernel", 12, 15, lane="stream", kind=Kind.COMPUTE)
    return made.trace()


def execution(
    names: str = "abc",
    records: tuple[int, ...] = (7, 8, 9),
    links: tuple[tuple[int, int], ...] = (),
) -> Trace:
    made = Made()
    for turn, (name, record) in enumerate(zip(names, records, strict=True)):
        after = tuple(target for owner, target in links if owner == turn)
        made.builder.add(name, Kind.HOST, "thread 77", UNKNOWN, UNKNOWN, record=record,
                         after=[(0, target) for target in after])  # fmt: skip
    return made.trace(clock=None)


def test_equal_ids_carry_dependencies_over() -> None:
    told, note = depending(timeline(), execution(links=((2, 0), (1, 0))))
    assert note is None
    assert [event.after for event in verify(told)] == [(), ((0, 0),), ((0, 0),), ()]


def test_ids_of_other_counters_are_not_joined_by_accident() -> None:
    told, note = depending(timeline((7, 8, 9)), execution("xyz", (7, 8, 9), ((2, 0),)))
    assert told.after_index.size == 0
    assert note is not None
    assert (note.code, note.count) == ("not-joined", 3)


def test_without_common_ids_equal_order_of_names_joins() -> None:
    told, note = depending(timeline(), execution("abc", (107, 108, 109), ((2, 1),)))
    assert note is None
    assert told.event(2).after == ((0, 1),)


def test_one_operator_more_is_another_order() -> None:
    _, note = depending(timeline(), execution("abbc", (107, 108, 109, 110), ((2, 1),)))
    assert note is not None


def test_a_dependency_that_the_times_contradict_is_left_out() -> None:
    told, note = depending(timeline(), execution(links=((0, 2),)))
    assert note is None
    assert told.after_index.size == 0


@pytest.mark.parametrize("empty", [True, False])
def test_nothing_to_join(empty: bool) -> None:
    bare = Made().trace() if empty else timeline()
    other = execution() if empty else Made().trace(clock=None)
    told, note = depending(bare, other)
    assert told is bare
    assert note is not None
