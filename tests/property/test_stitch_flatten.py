"""Laws of cutting spans into pieces, and of finding the structure that steps share."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from made_traces import Made

from paceline.model import TALKING, Kind, Trace
from paceline.stitch import flatten
from paceline.stitch.sequence import aligned
from paceline.stitch.structure import shared

KINDS = st.sampled_from([Kind.HOST, Kind.HOST, Kind.COMPUTE, Kind.COLLECTIVE, Kind.SEND])
LENGTH = 60


@st.composite
def any_trace(draw: st.DrawFn) -> Trace:
    """Spans that nest, cross and repeat as they like, with links among them."""
    made = Made()
    for at in range(draw(st.integers(0, 12))):
        start = draw(st.integers(0, LENGTH))
        made.add(
            f"event {at}", start, draw(st.none() | st.integers(start, LENGTH)),
            lane=draw(st.sampled_from("ab")), kind=draw(KINDS), step=draw(st.integers(0, 2)),
            after=tuple(draw(st.lists(st.integers(0, at - 1), max_size=2))) if at else (),
        )  # fmt: skip
    return made.trace()


@st.composite
def nested_trace(draw: st.DrawFn) -> Trace:
    """Calls inside calls on one lane; some launch a kernel."""
    made, spans = Made(), list[tuple[int, int]]()
    wanted = st.tuples(st.integers(0, LENGTH - 1), st.integers(1, LENGTH), st.booleans())
    launches: list[int] = []
    for start, lasting, launches_one in draw(st.lists(wanted, max_size=10)):
        end = min(start + lasting, LENGTH)
        if any(a < start < b < end or start < a < end < b for a, b in spans):
            continue  # it would cross another call
        spans.append((start, end))
        own = made.add(f"call {len(spans)}", start, end)
        launches += [own] * launches_one
    for at, launch in enumerate(launches):
        made.add("kernel", LENGTH + at, LENGTH + at + 1, lane="stream", kind=Kind.COMPUTE,
                 after=(launch,))  # fmt: skip
    return made.trace()


def cut(trace: Trace, steps: tuple[int, ...] = (0, 1)) -> flatten.Pieces:
    return flatten.pieces(trace, steps, flatten.linked([trace])[0])


@given(any_trace())
def test_pieces_never_overlap_and_stay_inside_their_event(trace: Trace) -> None:
    found = cut(trace)
    same = (np.diff(found.lane) == 0) & (np.diff(found.step) == 0)
    assert (found.start_ns[1:] >= found.end_ns[:-1])[same].all()
    assert (found.end_ns >= found.start_ns).all()
    end = trace.start_ns + np.maximum(trace.duration_ns, 0)
    assert (found.start_ns >= trace.start_ns[found.event]).all()
    assert (found.end_ns <= end[found.event]).all()
    assert (found.step == trace.step[found.event]).all()


@given(any_trace())
def test_what_meets_others_keeps_a_piece_and_its_end(trace: Trace) -> None:
    found = cut(trace)
    inside = np.isin(trace.step, (0, 1))
    talks = inside & np.isin(trace.kind, TALKING)
    assert (found.last[flatten.linked([trace])[0] & inside] >= 0).all()
    assert (found.last[~inside] == -1).all()
    assert Counter(found.event[np.isin(trace.kind[found.event], TALKING)].tolist()) == Counter(
        np.flatnonzero(talks).tolist()
    )  # never cut
    for event in np.flatnonzero(found.last >= 0):
        assert found.event[found.last[event]] == event


@given(nested_trace())
def test_each_moment_belongs_to_the_innermost_call_that_stays(trace: Trace) -> None:
    found = cut(trace)
    meets = flatten.linked([trace])[0]
    main = trace.kind == Kind.HOST
    start, end = trace.start_ns, trace.start_ns + trace.duration_ns
    for moment in range(LENGTH):
        around = np.flatnonzero(main & (start <= moment) & (moment < end)).tolist()
        around.sort(key=lambda k: (start[k], -end[k], k))
        kept = [k for place, k in enumerate(around) if place == 0 or meets[k]]
        ours = found.event[(found.start_ns <= moment) & (moment < found.end_ns)]
        assert ours.tolist() == kept[-1:]


TEXT = st.lists(st.integers(0, 3), max_size=9).map(lambda keys: np.array(keys, dtype=np.int64))


@given(TEXT, TEXT)
def test_an_alignment_keeps_order_and_is_longest(reference: np.ndarray, other: np.ndarray) -> None:
    place = aligned(reference, other, 18)
    assert place is not None
    met = place[place >= 0]
    assert (np.diff(met) > 0).all()
    assert (reference[met] == other[place >= 0]).all()
    longest = np.zeros((len(reference) + 1, len(other) + 1), dtype=int)
    for i, a in enumerate(reference):
        for j, b in enumerate(other):
            longest[i + 1, j + 1] = (
                longest[i, j] + 1 if a == b else max(longest[i, j + 1], longest[i + 1, j])
            )
    assert len(met) == longest[-1, -1]


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_a_structure_holds_what_at_least_half_of_the_steps_hold(steps: list[np.ndarray]) -> None:
    found = shared(steps)
    present = np.zeros(len(found.keys), dtype=int)
    for keys, place in zip(steps, found.places, strict=True):
        met = place >= 0
        assert (np.diff(place[met]) > 0).all()
        assert (found.keys[place[met]] == keys[met]).all()
        present[place[met]] += 1
    assert (2 * present >= len(steps)).all()
    assert found.left_out == sum(int((place < 0).sum()) for place in found.places)
