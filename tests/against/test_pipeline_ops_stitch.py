"""A real pipeline job of 32 steps: each step replays, and half of them predict the others."""

import dataclasses
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
from made_traces import medians, recorded, replayed

from paceline import read
from paceline.model import UNKNOWN, Kind, Profile, Trace
from paceline.stitch import profile


@pytest.fixture(scope="module")
def workers(shared_data: Path) -> list[Trace]:
    return list(read.traces(shared_data / "traces" / "pipeline-ops" / "trace-ST.parquet"))


@pytest.fixture(scope="module")
def found(workers: list[Trace]) -> Profile:
    return profile(workers)


def only(trace: Trace, steps: Collection[int]) -> Trace:
    """The trace as if only these steps had been recorded."""
    kept = np.isin(trace.step, list(steps))
    return dataclasses.replace(
        trace,
        step=np.where(kept, trace.step, -1),
        start_ns=np.where(kept, trace.start_ns, UNKNOWN),
        duration_ns=np.where(kept, trace.duration_ns, UNKNOWN),
    )


def test_all_steps_and_all_operations(workers: list[Trace], found: Profile) -> None:
    assert len(found.measured) == 32
    assert found.events == 6784
    assert len(found.graph) == 6784 // 32
    assert all(matching.unmatched == 0 for matching in found.matching)
    for worker in workers:
        own = np.flatnonzero(found.graph.worker == worker.worker)
        for line in found.measured:
            there = own[line.start_ns[own] != UNKNOWN]
            assert len(there) >= (worker.step == line.step).sum() - 1


def test_every_step_replays_to_its_length(found: Profile) -> None:
    for line in found.measured:
        ends = replayed(found.graph, *recorded(found.graph, line))
        assert max(ends) == pytest.approx(line.end_ns[line.end_ns != UNKNOWN].max(), rel=0.015)


@pytest.mark.parametrize("turn", [0, 1])
def test_half_of_the_steps_predict_the_others(
    workers: list[Trace], found: Profile, turn: int
) -> None:
    steps = sorted(line.step for line in found.measured if line.step is not None)
    half = profile([only(trace, steps[turn::2]) for trace in workers])
    predicted = max(replayed(half.graph, *medians(half)))
    others = [line.step_ns for line in found.measured if line.step in steps[1 - turn :: 2]]
    assert predicted == pytest.approx(np.mean(others), rel=0.03)


def test_a_wait_for_the_other_side_is_no_work(found: Profile) -> None:
    """A combined exchange is recorded with half a second; its messages take milliseconds."""
    graph = found.graph
    for kind in (Kind.SEND, Kind.RECV):
        for op in np.flatnonzero((graph.kind == kind) & (graph.match >= 0)):
            spread = found.durations.of(int(graph.work[op]), 0)
            assert spread is not None
            assert spread.median_ns < 5e6


def test_compute_waits_for_its_messages(found: Profile) -> None:
    graph = found.graph
    first = [op for op in graph if op.name == "forward-compute" and op.worker in (2, 4, 6)]
    assert first
    for op in first:
        awaited = {graph.op(other).name for other in op.after}
        assert "forward-recv" in awaited
