"""The report as one page that opens from a file, without network and without scripts.

Comes in: a report and the profile that it is about. Goes out: HTML whose policy allows nothing but
its own styles and pictures. Every text is spelled out by `shown` and escaped, whatever the
template does; pictures hold texts as outlines only.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from paceline import __version__
from paceline.model import InputError, Job, Profile, Report, replacing, shown
from paceline.write.charts.costs import costs
from paceline.write.charts.heatmap import heatmap
from paceline.write.charts.rows import MOST_WORKERS
from paceline.write.charts.steps import step_chart
from paceline.write.page import Table
from paceline.write.report_page import basis, cause, facts, interval_text, ms, sentences, share
from paceline.write.report_view import FindingRow, ReportView, report_view

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"  # noqa: E501
_TEMPLATE = "report.html.jinja"
MOST_FINDINGS = 40
LONGEST = 600  # characters of one text


class _Picture(NamedTuple):
    question: str
    caption: str
    svg: str


class _Part(NamedTuple):
    question: str
    caption: str
    table: Table


class _Card(NamedTuple):
    """A finding in words."""

    code: str
    rule: str
    subject: str
    cause: str
    cost: str
    detail: str
    evidence: str
    advice: str
    edit: str | None


def report_html(report: Report, profile: Profile) -> str:
    """The page; needs the extra `html`."""
    if find_spec("matplotlib") is None or find_spec("jinja2") is None:
        raise InputError(
            "an HTML page needs matplotlib and jinja2.", cure="pip install 'paceline[html]'"
        )
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=_harmless,
    )  # fmt: skip
    source = Path(__file__).with_name(_TEMPLATE).read_text(encoding="utf-8")
    view = report_view(report)
    name = "this job" if profile.job.name == Job().name else shown(profile.job.name, 80)
    return environment.from_string(source).render(
        title=f"What slows {name}" if view.findings else f"Nothing found that slows {name}",
        lead=_lead(view),
        facts=facts(view),
        findings=[_card(row, view) for row in view.findings[:MOST_FINDINGS]],
        left_out=max(0, len(view.findings) - MOST_FINDINGS),
        pictures=[picture for picture in _pictures(report, profile) if picture.svg],
        tables=[part for part in _tables(view) if part.table.rows],
        sources=_sources(report),
        policy=_POLICY,
        version=__version__,
    )


def _harmless(value: object) -> object:
    """What a template prints: pictures as they are, anything else without hidden characters."""
    return value if hasattr(value, "__html__") else shown(value, LONGEST)


def report_file(report: Report, profile: Profile, path: Path) -> None:
    """Writes the page whole, or leaves what was there."""
    text = report_html(report, profile)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def _lead(view: ReportView) -> str:
    """The answer in one sentence."""
    if not view.findings:
        return f"Every question was asked and none had an answer: {', '.join(view.checked)}."
    first = view.findings[0]
    head = f"First: {first.subject}, {cause(first)}"
    if first.cost_ms is None or view.step_ms.median is None:
        return f"{head}."
    part = share(first.cost_ms, view.step_ms.median)
    return f"{head}: {ms(first.cost_ms)} of every step of {ms(view.step_ms.median)} ({part})."


def _card(row: FindingRow, view: ReportView) -> _Card:
    known = row.cost_ms is not None
    parts = (
        f"{share(row.cost_ms, view.step_ms.median)} of the step" if known else "",
        f"95 %: {interval_text(row.interval_ms)}" if known else "",
    )
    return _Card(
        code=row.code,
        rule=row.rule,
        subject=row.subject,
        cause=cause(row),
        cost=f"{ms(row.cost_ms)} a step" if known else "",
        detail=" · ".join(part for part in parts if part),
        evidence=sentences(row.evidence),
        advice=sentences([row.advice]),
        edit=row.edit,
    )


def _pictures(report: Report, profile: Profile) -> tuple[_Picture, ...]:
    workers = len(profile.graph.workers)
    some = f"{MOST_WORKERS} of {workers:,} workers: those of findings, on the critical path, and "
    return (
        _Picture(
            "How long would a step be with each fix?",
            "Blue: the step that is left. Green: what the fix regains. Line: its 95 % interval."
            " Each fix on its own.",
            costs(report),
        ),
        _Picture(
            "What happened in a typical step?",
            (some + "a few others. " if workers > MOST_WORKERS else "")
            + "The recorded step nearest to the median. Work in colors, waiting for others in"
            " gray; the thin line is what the length of the step hangs on.",
            step_chart(report, profile),
        ),
        _Picture(
            "Which worker was slow, in which step?",
            "Time of a worker's own work, waiting left out, against the median worker of the same"
            " step. Red is slower, blue is faster.",
            heatmap(profile),
        ),
    )


def _tables(view: ReportView) -> tuple[_Part, ...]:
    workers, path, links = basis(view)
    count, sent = view.collectives.count, ms(view.collectives.transfer_ms)
    return (
        _Part(
            "Who works, and who waits?",
            f"In the median step, with {count:,} collectives on the busiest worker that take"
            f" {sent} of transfer. Busy: something runs on the device. Waits: time in collectives"
            " beyond the transfer, in sum, also where they overlap. The worker that waits"
            " least is the one the others wait for.",
            workers,
        ),
        _Part(
            "What does the length of a step hang on?",
            "The largest parts of the critical path of the typical step, as simulated. A lead is"
            " the pause between the moment an op could start and its start.",
            path,
        ),
        _Part("How fast are the links?", "The slowest first.", links),
    )


def _sources(report: Report) -> str:
    names = [shown(Path(source.path).name, 60) for source in report.sources]
    rest = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + rest
