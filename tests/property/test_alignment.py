"""Laws of matching and alignment: what is injected comes back, within the stated error."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from made_clocks import made

from paceline.model import Kind, Trace, TraceBuilder
from paceline.stitch import match
from paceline.stitch.align import clocks
from paceline.stitch.alignments import aligned_end_ns, aligned_ns

JOBS = 80
FEW = settings(max_examples=20)


def test_injected_offset_and_drift_come_back_within_the_stated_error() -> None:
    """95 % intervals that hold 95 % of the time, and are not wide beyond use."""
    within: list[bool] = []
    share: list[float] = []
    for seed in range(JOBS):
        job = made(seed)
        found = clocks(job.traces, match.events(job.traces))
        for index, alignment in enumerate(found.alignments[1:], start=1):
            assert alignment.error_ns is not None
            error = job.error_ns(index, alignment)
            within.append(error <= alignment.error_ns)
            share.append(error / alignment.error_ns)
    assert len(within) > 3 * JOBS
    assert np.mean(within) >= 0.95
    assert np.median(share) > 0.1


def test_drift_comes_back_from_half_a_minute() -> None:
    for seed in range(6):
        job = made(seed, workers=4, count=400, span_ns=35e9, messages=True)
        found = clocks(job.traces, match.events(job.traces))
        for clock, alignment in zip(job.clocks, found.alignments, strict=True):
            rate = clock.drift_ppm * 1e-6
            assert abs(alignment.drift_ppm + 1e6 * rate / (1 + rate)) < 3
            assert alignment.drift_error_ppm is not None


@FEW
@given(seed=st.integers(0, 10**6))
def test_nothing_is_received_before_it_was_sent(seed: int) -> None:
    job = made(seed, workers=3, count=60, span_ns=30e9, messages=True)
    matches = match.events(job.traces)
    found = clocks(job.traces, matches)
    starts = [aligned_ns(t, a) for t, a in zip(job.traces, found.alignments, strict=True)]
    ends = [aligned_end_ns(t, a) for t, a in zip(job.traces, found.alignments, strict=True)]
    rows = np.flatnonzero(matches.kind[matches.match] == Kind.SEND).reshape(-1, 2)
    assert len(rows) == 3 * 2 * 60
    for pair in rows:
        by_kind = {
            int(job.traces[matches.trace[r]].kind[matches.event[r]]): (
                int(matches.trace[r]),
                int(matches.event[r]),
            )
            for r in pair
        }
        sender, sent = by_kind[Kind.SEND]
        receiver, received = by_kind[Kind.RECV]
        assert ends[receiver][received] >= starts[sender][sent]


@FEW
@given(
    seed=st.integers(0, 10**6),
    shift=st.integers(-(2**60), 2**60),
    moved=st.integers(1, 3),
)
def test_setting_a_clock_changes_its_own_offset_only(seed: int, shift: int, moved: int) -> None:
    job = made(seed, workers=4, count=40)
    before = clocks(job.traces, match.events(job.traces)).alignments
    traces = list(job.traces)
    traces[moved] = dataclasses.replace(traces[moved], start_ns=traces[moved].start_ns + shift)
    after = clocks(traces, match.events(traces)).alignments
    for index, (one, two) in enumerate(zip(before, after, strict=True)):
        own = shift if index == moved else 0
        assert abs(two.offset_ns + own - one.offset_ns) <= 2
        assert two.drift_ppm == one.drift_ppm or abs(two.drift_ppm - one.drift_ppm) < 1e-3


@FEW
@given(seed=st.integers(0, 10**6), order=st.permutations(range(4)))
def test_numbering_workers_otherwise_changes_nothing(seed: int, order: list[int]) -> None:
    job = made(seed, workers=4, count=20)
    renumbered = [_renumbered(trace, order) for trace in job.traces]
    one, two = match.events(job.traces), match.events(renumbered)
    assert {_members(one, k) for k in range(len(one))} == {
        _members(two, k) for k in range(len(two))
    }
    first = clocks(job.traces, one).alignments
    second = clocks(renumbered, two).alignments
    assert [a.worker for a in second] == [order[a.worker] for a in first]
    assert max(abs(a.offset_ns - b.offset_ns) for a, b in zip(first, second, strict=True)) <= 2


def _renumbered(trace: Trace, order: list[int]) -> Trace:
    peer = np.where(trace.peer >= 0, np.array(order)[trace.peer], -1).astype(np.int32)
    return dataclasses.replace(trace, worker=order[trace.worker], peer=peer)


def _members(matches: match.Matches, number: int) -> frozenset[tuple[int, int]]:
    rows = np.flatnonzero(matches.match == number)
    return frozenset((int(matches.trace[r]), int(matches.event[r])) for r in rows)


@FEW
@given(
    seed=st.integers(0, 10**6),
    lost=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 59)), max_size=12),
    keyed=st.booleans(),
    steps=st.booleans(),
)
def test_events_that_were_lost_make_no_wrong_match(
    seed: int, lost: set[tuple[int, int]], keyed: bool, steps: bool
) -> None:
    """Without keys one worker loses events: if two lose as many of a kind, nobody can tell."""
    if not keyed:
        lost = {(1, k) for _, k in lost}
    generator = np.random.default_rng(seed)
    ends = np.cumsum(generator.integers(300_000, 3_000_000, 60))
    traces: list[Trace] = []
    truth: list[list[int]] = []
    for worker in range(3):
        kept = [k for k in range(60) if (worker, k) not in lost]
        builder, offset = TraceBuilder(), int(generator.integers(-(10**9), 10**9))
        for k in kept:
            end = int(ends[k]) + offset + int(generator.normal(0, 4000))
            builder.add(
                ("all_reduce", "all_gather")[k % 3 == 0], Kind.COLLECTIVE, "lane",
                end - 90_000, 90_000, size_bytes=8 * (k % 2), step=k // 10 if steps else -1,
                sequence=k if keyed else -1, group=builder.group("dp"),
            )  # fmt: skip
        traces.append(builder.trace(worker, clock="unix"))
        truth.append(kept)
    matches = match.events(traces)
    for number in range(len(matches)):
        assert len({truth[t][e] for t, e in _members(matches, number)}) == 1
    possible = [k for k in range(60) if sum(k in kept for kept in truth) > 1]
    assert len(matches) >= (len(possible) if keyed else 0.8 * len(possible))
