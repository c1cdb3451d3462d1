"""Laws of a Profile, on generated jobs that know their own times."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_traces import Made, medians, recorded, replayed

from jobs import Fault, Shape, traces
from paceline.model import UNKNOWN, Kind, ModelError, Profile, Trace
from paceline.stitch import profile

SHAPES = st.builds(
    Shape,
    workers=st.integers(1, 4),
    steps=st.integers(3, 9),
    layers=st.integers(2, 5),
    buckets=st.integers(1, 2),
    hops=st.just(False),
    clock_ms=st.sampled_from([0.0, 40.0]),
    drift_ppm=st.sampled_from([0.0, 30.0]),
)
SEEDS = st.integers(0, 10**6)


def lengths(found: Profile) -> np.ndarray:
    return np.array([line.step_ns for line in found.measured], dtype=float)


@settings(max_examples=15)
@given(SHAPES, SEEDS)
def test_a_recorded_step_replays_to_its_own_length(shape: Shape, seed: int) -> None:
    found = profile(traces(shape, seed=seed))
    for line in found.measured:
        ends = replayed(found.graph, *recorded(found.graph, line))
        assert max(ends) == pytest.approx(line.end_ns.max(), rel=0.005)


@settings(max_examples=10)
@given(SHAPES, SEEDS)
def test_the_order_of_traces_changes_nothing(shape: Shape, seed: int) -> None:
    made = traces(shape, seed=seed)
    one, other = profile(made), profile(made[::-1])
    assert one.graph == other.graph
    assert one.durations == other.durations
    assert one.measured == other.measured


@settings(max_examples=10)
@given(SHAPES, SEEDS, st.integers(-(10**10), 10**10))
def test_a_clock_that_is_set_otherwise_changes_no_time(shape: Shape, seed: int, by: int) -> None:
    # pings are clock readings, too; only ends of collectives tell here
    made = [dataclasses.replace(trace, pings=()) for trace in traces(shape, seed=seed)]
    one = profile(made)
    made[-1] = dataclasses.replace(made[-1], start_ns=made[-1].start_ns + by)
    other = profile(made)
    assert other.graph.works == one.graph.works
    assert other.durations.mean_ns == pytest.approx(one.durations.mean_ns, rel=0.01, abs=20_000)
    assert lengths(other) == pytest.approx(lengths(one), rel=0.005)


@settings(max_examples=10)
@given(SHAPES, SEEDS)
def test_no_transfer_is_longer_than_any_member_lasted(shape: Shape, seed: int) -> None:
    found = profile(traces(shape, seed=seed))
    graph = found.graph
    lasted = np.stack([line.end_ns - line.start_ns for line in found.measured])
    for row in range(len(found.durations)):
        spread = found.durations.row(row)
        own = np.flatnonzero(graph.work == found.durations.work[row])
        assert spread.deciles_ns[0] >= 0
        assert spread.deciles_ns[-1] <= lasted[:, own].max()
        if graph.kind[own[0]] == Kind.COLLECTIVE:
            assert spread.deciles_ns[-1] <= lasted[:, own].min(axis=1).max()


@pytest.mark.parametrize("hops", [False, True])
def test_every_step_of_a_faulty_job_replays(hops: bool) -> None:
    fault = Fault(cause="slow_compute", worker=2, ms=20)
    found = profile(traces(Shape(workers=4, steps=8, hops=hops), fault, seed=3))
    assert all(matching.unmatched == 0 for matching in found.matching)
    for line in found.measured:
        ends = replayed(found.graph, *recorded(found.graph, line))
        assert max(ends) == pytest.approx(line.end_ns.max(), rel=0.005)
    assert max(replayed(found.graph, *medians(found))) < np.median(lengths(found))


def thinned(trace: Trace, draw: np.random.Generator, share: float) -> Trace:
    """The trace without the times of some of its host events, as a lossy recorder leaves it."""
    lost = (draw.random(len(trace)) < share) & (trace.kind == Kind.HOST)
    columns: dict[str, Any] = {
        "start_ns": np.where(lost, UNKNOWN, trace.start_ns),
        "duration_ns": np.where(lost, UNKNOWN, trace.duration_ns),
    }
    return dataclasses.replace(trace, **columns)


@settings(max_examples=8)
@given(SEEDS)
def test_a_lossy_recording_still_gives_a_valid_profile(seed: int) -> None:
    draw = np.random.default_rng(seed)
    made = [thinned(trace, draw, 0.05) for trace in traces(Shape(workers=3, steps=6), seed=seed)]
    found = profile(made)
    assert len(found.measured) == 6
    assert (found.durations.count <= 6 * 3).all()


@st.composite
def wild(draw: st.DrawFn) -> list[Trace]:
    """A few traces that say what they like."""
    made: list[Trace] = []
    small = st.integers(-1, 3)
    times = st.integers(0, 200) | st.integers(-(2**62), 2**62)
    for _ in range(draw(st.integers(0, 4))):
        one = Made(draw(st.integers(0, 2)))
        for at in range(draw(st.integers(0, 8))):
            start = draw(times)
            links = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=2))
            one.add(
                draw(st.sampled_from(["a", "b", "reduce"])), start,
                draw(st.none() | st.integers(start, start + 100)),
                lane=draw(st.sampled_from(["main", "thread 3", "thread 4", "stream 7"])),
                kind=draw(st.sampled_from(list(Kind))), step=draw(small),
                after=tuple(
                    (worker, index) for worker, index in links
                    if worker != one.worker or index < at
                ),
                group=draw(st.sampled_from([None, "dp", ("dp", (0, 1)), ("tp", (0, 7))])),
                sequence=draw(small), peer=draw(small), bucket=draw(small), chunk=draw(small),
                round=draw(small), size_bytes=draw(small | st.just(2**62)),
            )  # fmt: skip
        tool = draw(st.sampled_from([None, "profiler", "recorder"]))
        made.append(one.trace(clock=draw(st.sampled_from(["unix", "unix", "boot"])), tool=tool))
    return made


@settings(max_examples=200)
@given(wild())
def test_whatever_traces_say_it_ends_in_a_valid_profile_or_one_clear_error(
    made: list[Trace],
) -> None:
    try:
        found = profile(made)
    except ModelError:
        return
    for line in found.measured:
        ends = replayed(found.graph, *recorded(found.graph, line))
        assert max(ends, default=0) >= 0
