"""The doors to pages: nouns in, finished text in the format of that name out."""

from collections.abc import Iterable, Sequence

from paceline.model import (
    Check,
    Cluster,
    Comparison,
    Fidelity,
    Plan,
    Profile,
    Proof,
    Recording,
    Report,
    Trace,
    WhatIf,
)
from paceline.write.checks_page import checks_page
from paceline.write.comparison_page import comparison_page, comparison_view
from paceline.write.fidelity_page import fidelity_page
from paceline.write.formats import PAGE_FORMATS
from paceline.write.inspection import inspected
from paceline.write.inspection_page import inspection_page
from paceline.write.page import PLAIN, Look, Page
from paceline.write.plan_page import plan_page, plan_view
from paceline.write.proof_page import proof_page
from paceline.write.recording_page import recording_page
from paceline.write.report_page import report_page
from paceline.write.report_view import report_view
from paceline.write.whatif_page import whatif_page, whatif_view


def inspection(
    traces: Iterable[Trace],
    profile: Profile,
    cluster: Cluster,
    *,
    format: str = "text",
    look: Look = PLAIN,
) -> str:
    """What was found in the traces, for a person or a program."""
    return rendered(inspection_page(inspected(traces, profile, cluster)), format, look)


def report(report: Report, *, format: str = "text", look: Look = PLAIN) -> str:
    """What slows a job, for a person or a program."""
    return rendered(report_page(report_view(report)), format, look)


def comparison(comparison: Comparison, *, format: str = "text", look: Look = PLAIN) -> str:
    """What changed between two runs, for a person or a program."""
    return rendered(comparison_page(comparison_view(comparison)), format, look)


def whatif(
    base_ns: float,
    each: Sequence[WhatIf],
    together: WhatIf,
    notes: Sequence[str] = (),
    *,
    format: str = "text",
    look: Look = PLAIN,
) -> str:
    """What a step would take with edits, for a person or a program."""
    return rendered(whatif_page(whatif_view(base_ns, each, together, notes)), format, look)


def checks(checks: Sequence[Check], *, format: str = "text", look: Look = PLAIN) -> str:
    """What works on a machine, for a person or a program."""
    return rendered(checks_page(checks), format, look)


def recording(recording: Recording, *, format: str = "text", look: Look = PLAIN) -> str:
    """What a recording has left, for a person or a program."""
    return rendered(recording_page(recording), format, look)


def fidelity(found: Fidelity, *, format: str = "text", look: Look = PLAIN) -> str:
    """How closely a lab does what was asked, for a person or a program."""
    return rendered(fidelity_page(found), format, look)


def plan(
    plan: Plan, cluster: Cluster, *, explain: bool = False, format: str = "text", look: Look = PLAIN
) -> str:
    """Who works where, and how far from the optimum, for a person or a program."""
    return rendered(plan_page(plan_view(plan), cluster, explain=explain), format, look)


def proof(proof: Proof, *, format: str = "text", look: Look = PLAIN) -> str:
    """What an edit promised and what came of it, for a person or a program."""
    return rendered(proof_page(proof), format, look)


def rendered(page: Page, format: str, look: Look = PLAIN) -> str:
    """The page in the format of that name."""
    return next(own for own in PAGE_FORMATS if format == own.NAME).rendered(page, look)
