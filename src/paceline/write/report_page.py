"""The page of a report: the findings first, each with its cost, cause and cure.

Comes in: the view. Goes out: facts, findings, then what they rest on.
"""

from paceline.model import show_ns
from paceline.write.page import Column, Page, Table, table
from paceline.write.report_view import FindingRow, ReportView


def report_page(view: ReportView) -> Page:
    """The page that shows the view."""
    parts = (_findings(view), _what(view), _workers(view), _path(view), _links(view))
    return Page(
        title="What slows this job",
        facts=_facts(view),
        tables=tuple(part for part in parts if part.rows),
        view=view,
    )


def ms(value: float | None) -> str:
    """Milliseconds in the unit that suits them."""
    return "not known" if value is None else show_ns(value * 1e6)


def _facts(view: ReportView) -> tuple[tuple[str, str], ...]:
    step = view.step_ms
    workers = f"{view.workers:,}"
    if view.missing_workers:
        workers += f"; missing: {', '.join(map(str, view.missing_workers))}"
    facts = [
        ("workers", workers),
        ("steps", f"{view.steps:,}, {view.events:,} events"),
        ("step time", f"{ms(step.median)}, 10 to 90 %: {ms(step.p10)} to {ms(step.p90)}"),
    ]
    if view.replay.error is not None:
        facts.append(
            ("simulation", f"{ms(view.replay.step_ms)}, off by {100 * view.replay.error:.1f} %")
        )
    if not view.findings:
        facts.append(("found", f"nothing; checked: {', '.join(view.checked)}"))
    return tuple(facts)


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
            (row.cause or "-").replace("_", " "),
            ms(row.cost_ms),
            _share(row, view),
            interval_text(row.interval_ms),
        )
        for row in view.findings
    ]
    return table("Findings", columns, rows)


def _share(row: FindingRow, view: ReportView) -> str:
    if row.cost_ms is None or not view.step_ms.median:
        return "-"
    return f"{100 * row.cost_ms / view.step_ms.median:.1f} %"


def interval_text(interval: tuple[float, float] | None) -> str:
    """The two ends of an interval in milliseconds."""
    return "not known" if interval is None else f"{ms(interval[0])} to {ms(interval[1])}"


def _what(view: ReportView) -> Table:
    columns = (Column(title="code"), Column(title="evidence and advice", wraps=True))
    rows = [
        (row.code, _sentences([*row.evidence, row.advice]) + _cure(row)) for row in view.findings
    ]
    return table("Why, and what to do", columns, rows)


def _sentences(parts: list[str]) -> str:
    return " ".join(part[:1].upper() + part[1:].rstrip(".") + "." for part in parts)


def _cure(row: FindingRow) -> str:
    return "" if row.edit is None else f" Try: --edit '{row.edit}'"


def _workers(view: ReportView) -> Table:
    columns = (
        Column(title="worker", right=True),
        Column(title="busy", right=True),
        Column(title="waits", right=True),
        Column(title="arrives last", right=True),
    )
    rows = [
        (str(row.worker), ms(row.busy_ms), ms(row.wait_ms), f"{row.arrives_last:,}")
        for row in view.collectives.per_worker
    ]
    title = f"Workers ({view.collectives.count} collectives a step,"
    return table(f"{title} transfer {ms(view.collectives.transfer_ms)})", columns, rows)


def _path(view: ReportView) -> Table:
    columns = (
        Column(title="worker", right=True),
        Column(title="kind"),
        Column(title="op", wraps=True),
        Column(title="time", right=True),
    )
    largest = sorted(view.critical_path, key=lambda part: -part.ms)[:8]
    rows = [(str(part.worker), part.kind, part.name, ms(part.ms)) for part in largest]
    return table("Largest parts of the critical path", columns, rows)


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
        for link in view.links
    ]  # fmt: skip
    return table("Links", columns, rows)
