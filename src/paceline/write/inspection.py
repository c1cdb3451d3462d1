"""What was found in the traces of a job, as one record: the JSON view of `paceline inspect`.

Comes in: the traces, the profile stitched from them, the cluster they show. Goes out: workers,
steps, lanes, groups, matches, clocks, links, gaps and notes, each figure with its unit in its name.
docs/reference/json.md describes every field.
"""

from collections.abc import Iterable

import msgspec
import numpy as np

from paceline.model import Cluster, Matching, Note, Profile, Source, Trace
from paceline.write.gaps import gaps_ns


class WorkerFound(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that left traces."""

    rank: int
    machine: str
    device: str | None
    events: int
    lanes: int


class LaneFound(msgspec.Struct, frozen=True, kw_only=True):
    """A lane by name: on how many workers it is, and how many ops of one step it runs in all."""

    name: str
    workers: int
    ops: int


class GroupFound(msgspec.Struct, frozen=True, kw_only=True):
    """A group of workers: its members as traces name them, or those that were seen to meet."""

    name: str
    members: tuple[int, ...] | None


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """Events that found their counterparts, over all steps; `by_key` counts the matched ones."""

    matched: int
    unmatched: int
    by_key: dict[str, int]


class ClockFound(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker's clock maps onto the first worker's."""

    worker: int
    offset_us: float
    drift_ppm: float
    error_us: float | None


class LinkFound(msgspec.Struct, frozen=True, kw_only=True):
    """A link as the traces show it; `back` is from b to a, null when equal; intervals are 95 %."""

    a: str
    b: str
    gbit_per_s: float | None
    interval_gbit_per_s: tuple[float, float] | None
    back_gbit_per_s: float | None
    back_interval_gbit_per_s: tuple[float, float] | None
    latency_us: float | None
    interval_latency_us: tuple[float, float] | None


class GapFound(msgspec.Struct, frozen=True, kw_only=True):
    """Time of a step in which nothing of this worker ran although an op could have started."""

    worker: int
    ms_per_step: float


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
    """How long the recorded steps took."""

    median: float
    p10: float
    p90: float


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; `steps` are those that the profile rests on."""

    schema: int
    workers: tuple[WorkerFound, ...]
    missing_workers: tuple[int, ...]
    events: int
    steps: tuple[int | None, ...]
    step_ms: StepTime | None
    lanes: tuple[LaneFound, ...]
    groups: tuple[GroupFound, ...]
    collectives: Matched
    messages: Matched
    alignment: tuple[ClockFound, ...]
    alignment_residual_us: float | None
    links: tuple[LinkFound, ...]
    gaps: tuple[GapFound, ...]
    notes: tuple[Note, ...]
    sources: tuple[Source, ...]


def inspected(traces: Iterable[Trace], profile: Profile, cluster: Cluster) -> Inspection:
    """What was found in the traces."""
    return Inspection(
        schema=1,
        workers=_workers(tuple(traces), profile),
        missing_workers=profile.missing_workers,
        events=profile.events,
        steps=tuple(line.step for line in profile.measured),
        step_ms=_step_ms(profile),
        lanes=_lanes(profile),
        groups=_groups(profile),
        collectives=_matched(m for m in profile.matching if m.kind == "collective"),
        messages=_matched(m for m in profile.matching if m.kind != "collective"),
        alignment=tuple(
            ClockFound(
                worker=clock.worker,
                offset_us=clock.offset_ns / 1e3,
                drift_ppm=clock.drift_ppm,
                error_us=None if clock.error_ns is None else clock.error_ns / 1e3,
            )
            for clock in profile.alignment
        ),
        alignment_residual_us=None if profile.residual_ns is None else profile.residual_ns / 1e3,
        links=_links(cluster),
        gaps=_gaps(profile),
        notes=profile.notes,
        sources=profile.sources,
    )


def _workers(traces: tuple[Trace, ...], profile: Profile) -> tuple[WorkerFound, ...]:
    events: dict[int, int] = {}
    devices: dict[int, str] = {}
    for trace in traces:
        events[trace.worker] = events.get(trace.worker, 0) + len(trace)
        if trace.facts.device is not None:
            devices.setdefault(trace.worker, trace.facts.device)
    graph = profile.graph
    lanes = np.unique(np.stack((graph.worker, graph.lane)), axis=1)[0]
    return tuple(
        WorkerFound(
            rank=worker.rank,
            machine=worker.machine,
            device=devices.get(worker.rank),
            events=events.get(worker.rank, 0),
            lanes=int((lanes == worker.rank).sum()),
        )
        for worker in profile.workers
    )


def _step_ms(profile: Profile) -> StepTime | None:
    taken = [line.step_ns / 1e6 for line in profile.measured]
    if not taken:
        return None
    p10, median, p90 = (float(value) for value in np.percentile(taken, (10, 50, 90)))
    return StepTime(median=median, p10=p10, p90=p90)


def _lanes(profile: Profile) -> tuple[LaneFound, ...]:
    graph = profile.graph
    ops = np.bincount(graph.lane, minlength=len(graph.lanes))
    pairs = np.unique(np.stack((graph.worker, graph.lane)), axis=1)
    workers = np.bincount(pairs[1], minlength=len(graph.lanes))
    return tuple(
        LaneFound(name=name, workers=int(workers[at]), ops=int(ops[at]))
        for at, name in enumerate(graph.lanes)
        if ops[at]
    )


def _groups(profile: Profile) -> tuple[GroupFound, ...]:
    graph = profile.graph
    met = np.flatnonzero(graph.match >= 0)
    group = graph.match_group[graph.match[met]]
    found: list[GroupFound] = []
    for number, own in enumerate(graph.groups):
        seen = tuple(np.unique(graph.worker[met[group == number]]).tolist()) or None
        found.append(GroupFound(name=own.name, members=own.members or seen))
    return tuple(found)


def _matched(rows: Iterable[Matching]) -> Matched:
    matched = unmatched = 0
    by_key: dict[str, int] = {}
    for row in rows:
        matched += row.matched
        unmatched += row.unmatched
        if row.matched:
            by_key[row.key] = by_key.get(row.key, 0) + row.matched
    return Matched(matched=matched, unmatched=unmatched, by_key=by_key)


def _links(cluster: Cluster) -> tuple[LinkFound, ...]:
    return tuple(
        LinkFound(
            a=link.a,
            b=link.b,
            gbit_per_s=_gbit(link.bytes_per_s),
            interval_gbit_per_s=_gbits(link.interval_bytes_per_s),
            back_gbit_per_s=_gbit(link.back_bytes_per_s),
            back_interval_gbit_per_s=_gbits(link.back_interval_bytes_per_s),
            latency_us=None if link.latency_ns is None else link.latency_ns / 1e3,
            interval_latency_us=None
            if link.interval_latency_ns is None
            else (link.interval_latency_ns[0] / 1e3, link.interval_latency_ns[1] / 1e3),
        )
        for link in cluster.links
    )


def _gbit(bytes_per_s: float | None) -> float | None:
    return None if bytes_per_s is None else bytes_per_s * 8 / 1e9


def _gbits(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (interval[0] * 8 / 1e9, interval[1] * 8 / 1e9)


def _gaps(profile: Profile) -> tuple[GapFound, ...]:
    return tuple(
        GapFound(worker=worker.rank, ms_per_step=float(ns) / 1e6)
        for worker, ns in zip(profile.workers, gaps_ns(profile), strict=True)
    )
