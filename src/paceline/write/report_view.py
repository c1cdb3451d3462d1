"""A report as one record: the JSON view of `paceline diagnose`.

Comes in: the report. Goes out: the same in milliseconds and microseconds, with the unit in each
name. docs/reference/json.md describes every field.
"""

import msgspec

from paceline.model import Finding, MeasuredLink, Report


class StepMs(msgspec.Struct, frozen=True, kw_only=True):
    """How long the measured steps took; None where no step was recorded whole."""

    median: float | None
    p10: float | None
    p90: float | None


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The median simulated step, and the median relative error of simulated against measured."""

    step_ms: float | None
    error: float | None


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker's clock maps onto the first worker's."""

    worker: int
    offset_us: float
    drift_ppm: float


class WorkerMs(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker did in the median step."""

    worker: int
    busy_ms: float
    wait_ms: float
    arrives_last: int


class CollectivesMs(msgspec.Struct, frozen=True, kw_only=True):
    """The collectives of a step on its busiest worker."""

    count: int
    transfer_ms: float
    per_worker: tuple[WorkerMs, ...]


class LinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """A measured link; `interval` is that of the rate, in Gbit/s."""

    a: str
    b: str
    gbit_per_s: float
    latency_us: float | None
    interval: tuple[float, float] | None


class PathRow(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the critical path."""

    worker: int
    kind: str
    name: str
    ms: float


class FindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong."""

    code: str
    rule: str
    subject: str
    worker: int | None
    cause: str | None
    cost_ms: float | None
    interval_ms: tuple[float, float] | None
    evidence: tuple[str, ...]
    advice: str
    edit: str | None


class ReportView(msgspec.Struct, frozen=True, kw_only=True):
    """All of a report that programs rely on; `workers`, `steps` and `events` are counts."""

    schema: int
    workers: int
    missing_workers: tuple[int, ...]
    steps: int
    events: int
    step_ms: StepMs
    replay: Replay
    alignment: tuple[Clock, ...]
    alignment_residual_us: float | None
    collectives: CollectivesMs
    links: tuple[LinkRow, ...]
    critical_path: tuple[PathRow, ...]
    findings: tuple[FindingRow, ...]
    checked: tuple[str, ...]


def report_view(report: Report) -> ReportView:
    """The view of a report."""
    median, p10, p90 = (ns / 1e6 if report.steps else None for ns in report.step_ns)
    return ReportView(
        schema=1,
        workers=report.workers,
        missing_workers=report.missing_workers,
        steps=report.steps,
        events=report.events,
        step_ms=StepMs(median=median, p10=p10, p90=p90),
        replay=Replay(step_ms=_ms(report.simulated_step_ns), error=report.simulation_error),
        alignment=tuple(
            Clock(worker=a.worker, offset_us=a.offset_ns / 1e3, drift_ppm=a.drift_ppm)
            for a in report.alignment
        ),
        alignment_residual_us=None if report.residual_ns is None else report.residual_ns / 1e3,
        collectives=_collectives(report),
        links=tuple(_link(link) for link in report.links),
        critical_path=tuple(
            PathRow(worker=part.worker, kind=part.kind, name=part.name, ms=part.ns / 1e6)
            for part in report.critical_path
        ),
        findings=tuple(_finding(finding) for finding in report.findings),
        checked=report.checked,
    )


def _collectives(report: Report) -> CollectivesMs:
    return CollectivesMs(
        count=report.collectives,
        transfer_ms=report.transfer_ns / 1e6,
        per_worker=tuple(
            WorkerMs(
                worker=wait.worker,
                busy_ms=wait.busy_ns / 1e6,
                wait_ms=wait.wait_ns / 1e6,
                arrives_last=wait.arrives_last,
            )
            for wait in report.waits
        ),
    )


def _link(link: MeasuredLink) -> LinkRow:
    ends = link.interval_bytes_per_s
    return LinkRow(
        a=link.a,
        b=link.b,
        gbit_per_s=_gbit(link.bytes_per_s),
        latency_us=None if link.latency_ns is None else link.latency_ns / 1e3,
        interval=None if ends is None else (_gbit(ends[0]), _gbit(ends[1])),
    )


def _gbit(bytes_per_s: float) -> float:
    return bytes_per_s * 8 / 1e9


def _ms(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e6


def _finding(finding: Finding) -> FindingRow:
    interval = finding.interval_ns
    return FindingRow(
        code=finding.code,
        rule=finding.rule,
        subject=finding.subject,
        worker=finding.worker,
        cause=None if finding.cause is None else finding.cause.value,
        cost_ms=_ms(finding.cost_ns),
        interval_ms=None if interval is None else (interval[0] / 1e6, interval[1] / 1e6),
        evidence=finding.evidence,
        advice=finding.advice,
        edit=None if finding.edit is None else str(finding.edit),
    )
