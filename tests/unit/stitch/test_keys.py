"""Keys of a flight recorder on the spans of a timeline."""

import pytest
from made_traces import MS, US, Made

from paceline.model import Kind, Trace, verify
from paceline.stitch.keys import is_keys, keyed

REDUCE = Kind.COLLECTIVE


def timeline(starts: list[int], name: str = "gloo:all_reduce", worker: int = 0) -> Trace:
    made = Made(worker)
    made.add("forward", 0, MS)
    for start in starts:
        made.add(name, start, start + 50 * US, kind=REDUCE, lane="comm")
    made.add("update", max(starts, default=0) + MS, max(starts, default=0) + 2 * MS)
    return made.trace()


def dump(
    issued: list[int], first: int = 10, name: str = "gloo:all_reduce", clock: str = "unix"
) -> Trace:
    made = Made()
    for turn, start in enumerate(issued):
        made.add(name, start, None, kind=REDUCE, lane="recorder", step=-1,
                 group=("dp", (0, 1)), sequence=first + turn, size_bytes=64)  # fmt: skip
    return made.trace(clock=clock)


def sequences(trace: Trace) -> list[int | None]:
    return [event.sequence for event in trace if event.kind == REDUCE]


def test_only_calls_with_sequences_are_keys() -> None:
    assert is_keys(dump([1, 2]))
    assert not is_keys(timeline([MS]))
    made = Made()
    made.add("hop", 0, 1, kind=Kind.SEND, sequence=1, chunk=0, round=0)
    assert not is_keys(made.trace())
    assert not is_keys(Made().trace())


def test_each_span_gets_the_key_of_its_call() -> None:
    spans = timeline([5 * MS, 7 * MS, 9 * MS])
    calls = dump([5 * MS - 60 * US, 7 * MS - 90 * US, 9 * MS - 20 * US])
    told, note = keyed(spans, calls)
    assert note is None
    assert sequences(verify(told)) == [10, 11, 12]
    assert {event.group for event in told if event.kind == REDUCE} == {"dp"}
    assert {event.size_bytes for event in told if event.kind == REDUCE} == {64}
    assert len(told) == len(spans)


def test_the_recorder_began_earlier_than_the_window() -> None:
    spans = timeline([15 * MS, 17 * MS])
    calls = dump([MS, 3 * MS, 14 * MS, 16 * MS])
    told, note = keyed(spans, calls)
    assert note is None
    assert sequences(told) == [12, 13]


def test_calls_queued_at_once_keep_their_order() -> None:
    queued = [10, 11, 12, 40_010, 40_011, 40_012]
    spans = timeline([us * US for us in (20, 500, 900, 40_020, 40_500, 40_900)])
    told, _ = keyed(spans, dump([us * US for us in (-90, *queued)], first=0))
    assert sequences(told) == [1, 2, 3, 4, 5, 6, 0]  # the call before the window comes last


def test_the_ring_forgot_the_oldest() -> None:
    spans = timeline([5 * MS, 7 * MS, 9 * MS])
    told, note = keyed(spans, dump([7 * MS - US, 9 * MS - US], first=6))
    assert sequences(told) == [None, 6, 7]
    assert note is not None
    assert note.count == 1


def test_calls_outside_the_window_become_events_and_those_inside_do_not() -> None:
    spans = timeline([5 * MS])
    told, _ = keyed(spans, dump([-20 * MS, 5 * MS - US]))
    assert len(told) == len(spans) + 1
    assert sequences(told) == [11, 10]


def test_without_any_span_all_calls_are_events() -> None:
    spans = timeline([])
    told, note = keyed(spans, dump([MS // 2, 3 * MS]))
    assert sequences(told) == [10, 11]
    assert note is None


def test_kernels_of_other_names_are_matched_by_kind() -> None:
    told, _ = keyed(timeline([5 * MS], name="ncclDevKernel_AllReduce"), dump([5 * MS - US]))
    assert sequences(told) == [10]


def test_a_span_before_every_call_gets_none() -> None:
    told, note = keyed(timeline([5 * MS]), dump([80 * MS]))
    assert sequences(told) == [None, 10]  # the call happened after the window
    assert note is not None


@pytest.mark.parametrize(("calls", "expected"), [([1, 2], [10, 11]), ([1, 2, 3], [None, None])])
def test_on_another_clock_only_equal_numbers_agree(
    calls: list[int], expected: list[int | None]
) -> None:
    told, _ = keyed(timeline([5 * MS, 6 * MS]), dump(calls, clock="boot"))
    assert sequences(told) == expected
