"""A hand-made profile of two workers: one all-reduce, a message, a pause on worker 1."""

import numpy as np
import pytest

from paceline.model import (
    DECILES,
    UNKNOWN,
    Alignment,
    Cluster,
    Facts,
    Graph,
    Group,
    Job,
    Kind,
    Link,
    Machine,
    Matching,
    Noise,
    Note,
    Phase,
    Profile,
    ProfiledWorker,
    Source,
    Spreads,
    Timeline,
    Trace,
    TraceBuilder,
    Work,
    verify,
)

MS = 1_000_000


def spreads(rows: list[tuple[int, int, float]]) -> Spreads:
    """(work, kind, ns) as spreads that never vary."""
    return Spreads(
        work=np.array([row[0] for row in rows], np.int32),
        kind=np.array([row[1] for row in rows], np.int32),
        count=np.full(len(rows), 2),
        mean_ns=np.array([row[2] for row in rows], float),
        deciles_ns=np.repeat([row[2] for row in rows], DECILES).astype(float),
    )


def graph() -> Graph:
    """Per worker: forward, then an all-reduce on a lane of its own."""
    return Graph(
        kind=np.array([Kind.COMPUTE, Kind.COLLECTIVE] * 2, np.uint8),
        phase=np.full(4, Phase.OTHER, np.uint8),
        worker=np.array([0, 0, 1, 1], np.int32),
        lane=np.array([0, 1, 0, 1], np.int32),
        work=np.array([0, 1, 0, 1], np.int32),
        layer=np.full(4, -1, np.int32),
        bucket=np.full(4, -1, np.int32),
        size_bytes=np.array([-1, 1000, -1, 1000]),
        match=np.array([-1, 0, -1, 0], np.int32),
        after_from=np.array([0, 0, 1, 1, 2]),
        after_op=np.array([0, 2], np.int32),
        match_group=np.array([0], np.int32),
        workers=(0, 1),
        works=(
            Work(name="forward", kind=Kind.COMPUTE),
            Work(name="all_reduce", kind=Kind.COLLECTIVE, size_bytes=1000),
        ),
        lanes=("main", "comm"),
        groups=(Group(name="dp", members=(0, 1)),),
    )


def timeline(step: int | None, starts: list[int], ends: list[int]) -> Timeline:
    return Timeline(
        start_ns=np.array(starts) * MS, end_ns=np.array(ends) * MS, step=step, measured=True
    )


@pytest.fixture
def profile() -> Profile:
    return verify(
        Profile(
            job=Job(),
            workers=(
                ProfiledWorker(rank=0, machine="m0", kind=0),
                ProfiledWorker(rank=1, machine="m1", kind=0),
            ),
            missing_workers=(2,),
            kinds=("cpu",),
            graph=graph(),
            durations=spreads([(0, 0, 10.0 * MS), (1, 0, 2.0 * MS)]),
            leads=spreads([]),
            measured=(
                timeline(3, [0, 10, 0, 14], [10, 16, 10, 16]),
                timeline(4, [0, 10, 0, 10], [10, 12, 10, 12]),
            ),
            alignment=(
                Alignment(worker=0, offset_ns=0.0, drift_ppm=0.0, raw_start_ns=0, error_ns=0.0),
                Alignment(worker=1, offset_ns=1.5e6, drift_ppm=-2.5, raw_start_ns=7),
            ),
            residual_ns=12_300.0,
            matching=(
                Matching(kind="collective", key="group and sequence", matched=4, unmatched=0),
                Matching(kind="collective", key="order", matched=2, unmatched=1),
                Matching(kind="message", key="order", matched=0, unmatched=3),
            ),
            noise=Noise(
                worker=np.empty(0, np.int32),
                step=np.empty(0, np.int64),
                loss=np.empty(0),
                local=np.empty(0),
                average=np.empty(0),
            ),
            events=9,
            notes=(Note(code="dropped-step", text="step 9 | is `cut`", worker=1, count=2),),
            sources=(Source(path="w0.json", digest="sha256:00", tool="native"),),
        )
    )


def one_trace(worker: int, events: int, device: str | None) -> Trace:
    rows = TraceBuilder()
    for index in range(events):
        rows.add("forward", Kind.COMPUTE, "main", index, 1)
    return rows.trace(worker, clock="c", facts=Facts(device=device))


@pytest.fixture
def traces() -> tuple[Trace, ...]:
    return one_trace(0, 4, "a100"), one_trace(1, 3, None), one_trace(1, 2, "v100")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(
        machines=(Machine(name="m0"), Machine(name="m1")),
        links=(
            Link(
                a="m0",
                b="m1",
                bytes_per_s=1.25e9,
                latency_ns=5000,
                interval_bytes_per_s=(1.0e9, 1.5e9),
            ),
            Link(a="m0", b="sw"),
        ),
    )


@pytest.fixture
def unknown() -> int:
    return UNKNOWN
