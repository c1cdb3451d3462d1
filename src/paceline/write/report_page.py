"""The page of a report: the findings first, each with its cost, cause and cure.

Comes in: the view. Goes out: facts, findings, then what they rest on. Of many workers those are
listed that a finding names, that the others wait for, or that wait longest; the rest is one row.
"""

import statistics
from collections.abc import Sequence

from paceline.model import show_ns
from paceline.write.inspection_page import ranges
from paceline.write.page import Column, Page, Table, table
from paceline.write.report_view import FindingRow, PathRow, ReportView, WorkerMs

ALL_WORKERS = 16  # up to so many every worker has a row
LARGEST = 8  # parts of the critical path


def report_page(view: ReportView) -> Page:
    """The page that shows the view."""
    parts = (_findings(view), _what(view), *basis(view))
    return Page(
        title="What slows this job" if view.findings else "Nothing found that slows this job",
        facts=facts(view),
        tables=tuple(part for part in parts if part.rows),
        view=view,
    )


def basis(view: ReportView) -> tuple[Table, ...]:
    """What the findings rest on: workers, critical path, links."""
    return _workers(view), _path(view), _links(view)


def ms(value: float | None) -> str:
    """Milliseconds in the unit that suits them."""
    return "not known" if value is None else show_ns(value * 1e6)


def facts(view: ReportView) -> tuple[tuple[str, str], ...]:
    """What a reader must know of the recording before the findings."""
    workers = f"{view.workers:,}"
    if view.missing_workers:
        workers += f"; missing: {ranges(view.missing_workers)}"
    found = [
        ("workers", workers),
        ("steps", f"{view.steps:,}, {view.events:,} events"),
        ("step time", _step_time(view)),
    ]
    if view.replay.error is not None:
        found.append(("simulation", _fidelity(view)))
    if view.alignment_residual_us is not None:
        left = show_ns(view.alignment_residual_us * 1e3)
        found.append(("clocks", f"aligned; ends that should coincide still differ by {left}"))
    found.append(("checked", ", ".join(view.checked)))
    return tuple(found)


def _step_time(view: ReportView) -> str:
    step = view.step_ms
    if step.median is None:
        return "not known: no step was recorded whole"
    if view.steps == 1:
        return f"{ms(step.median)}; one step only, so nothing has an interval"
    return f"{ms(step.median)} (median); 10 to 90 %: {ms(step.p10)} to {ms(step.p90)}"


def _fidelity(view: ReportView) -> str:
    error = view.replay.error or 0.0
    apart = "less than 0.1 %" if error < 0.001 else f"{100 * error:.1f} %"
    return f"{ms(view.replay.step_ms)}; off by {apart} (median over the steps)"


def _findings(view: ReportView) -> Table:
    columns = (
        Column(title="code"),
        Column(title="subject", wraps=True),
        Column(title="cause"),
        Column(title="cost per step", right=True),
        Column(title="share", right=True),
        Column(title="interval (95 %)", right=True),
    )
    rows = [
        (
            row.code,
            row.subject,
            cause(row),
            "-" if row.cost_ms is None else ms(row.cost_ms),
            share(row.cost_ms, view.step_ms.median),
            "-" if row.cost_ms is None else interval_text(row.interval_ms),
        )
        for row in view.findings
    ]
    return table("Findings", columns, rows)


def cause(row: FindingRow) -> str:
    """The cause in words."""
    return (row.cause or "-").replace("_", " ")


def share(part_ms: float | None, whole_ms: float | None) -> str:
    """A part of the step in percent."""
    return "-" if part_ms is None or not whole_ms else f"{100 * part_ms / whole_ms:.1f} %"


def interval_text(interval: tuple[float, float] | None) -> str:
    """The two ends of an interval in milliseconds."""
    return "not known" if interval is None else f"{ms(interval[0])} to {ms(interval[1])}"


def _what(view: ReportView) -> Table:
    columns = (Column(title="code"), Column(title="evidence and advice", wraps=True))
    rows = [
        (row.code, sentences([*row.evidence, row.advice]) + _cure(row)) for row in view.findings
    ]
    return table("Why, and what to do", columns, rows)


def sentences(parts: Sequence[str]) -> str:
    """The parts as sentences, one after the other."""
    return " ".join(part[:1].upper() + part[1:].rstrip(".") + "." for part in parts if part)


def _cure(row: FindingRow) -> str:
    return "" if row.edit is None else f" Try: --edit '{row.edit}'"


def _workers(view: ReportView) -> Table:
    columns = (
        Column(title="worker", right=True),
        Column(title="busy", right=True),
        Column(title="of the step", right=True),
        Column(title="waits", right=True),
        Column(title="arrives last", right=True),
    )
    every, whole = view.collectives.per_worker, view.step_ms.median
    listed = every if len(every) <= ALL_WORKERS else _telling(view)
    rows = [_worker(str(row.worker), row, whole) for row in listed]
    if len(listed) < len(every):
        middle = WorkerMs(
            worker=-1,
            busy_ms=statistics.median(row.busy_ms for row in every),
            wait_ms=statistics.median(row.wait_ms for row in every),
            arrives_last=round(statistics.median(row.arrives_last for row in every)),
        )
        rows.append(_worker("median", middle, whole))
    title = f"Workers ({view.collectives.count:,} collectives a step,"
    return Table(
        title=f"{title} {ms(view.collectives.transfer_ms)} of transfer)",
        columns=columns,
        rows=tuple(rows),
        left_out=len(every) - len(listed),
    )


def _worker(name: str, row: WorkerMs, whole: float | None) -> tuple[str, ...]:
    return (
        name,
        ms(row.busy_ms),
        share(row.busy_ms, whole),
        ms(row.wait_ms),
        f"{row.arrives_last:,}",
    )


def _telling(view: ReportView) -> list[WorkerMs]:
    """The workers worth a row where there are many, by rank."""
    every = view.collectives.per_worker
    named = {found.worker for found in view.findings[:LARGEST]}
    by_wait = sorted(every, key=lambda row: row.wait_ms)
    latest = sorted(every, key=lambda row: -row.arrives_last)
    kept = {row.worker for row in (*by_wait[:4], *by_wait[-2:], *latest[:2])}
    return [row for row in every if row.worker in named | kept]


def _path(view: ReportView) -> Table:
    columns = (
        Column(title="worker", right=True),
        Column(title="kind"),
        Column(title="op", wraps=True),
        Column(title="times", right=True),
        Column(title="time", right=True),
        Column(title="share", right=True),
    )
    whole = view.replay.step_ms
    alike: dict[tuple[int, str, str], list[PathRow]] = {}
    for part in view.critical_path:
        alike.setdefault((part.worker, part.kind, part.name), []).append(part)
    took = {key: sum(part.ms for part in parts) for key, parts in alike.items()}
    largest = sorted(took, key=lambda key: -took[key])[:LARGEST]
    rows = [
        (str(key[0]), key[1], key[2], str(len(alike[key])), ms(took[key]), share(took[key], whole))
        for key in largest
    ]
    rest = (whole or 0.0) - sum(took[key] for key in largest)
    if rows and whole and rest > 1e-3 * whole:
        rows.append(("", "", "everything else", "", ms(rest), share(rest, whole)))
    return table("What the length of a step hangs on", columns, rows)


def _links(view: ReportView) -> Table:
    columns = (
        Column(title="link", wraps=True),
        Column(title="rate", right=True),
        Column(title="interval (95 %)", right=True),
        Column(title="latency", right=True),
    )
    rows = [
        (
            f"{link.a} - {link.b}",
            f"{link.gbit_per_s:.3g} Gbit/s",
            "not known" if link.interval is None
            else f"{link.interval[0]:.3g} to {link.interval[1]:.3g} Gbit/s",
            "not known" if link.latency_us is None else show_ns(link.latency_us * 1e3),
        )
        for link in sorted(view.links, key=lambda link: link.gbit_per_s)
    ]  # fmt: skip
    return table("Links, the slowest first", columns, rows)
