"""Asks every question of one profile and gathers the answers into a report."""

import numpy as np

from paceline.diagnose import gate
from paceline.diagnose.case import case
from paceline.diagnose.code import Code
from paceline.diagnose.links import links
from paceline.diagnose.path import path_parts
from paceline.diagnose.questions import (
    communication,
    fidelity,
    hang,
    host,
    imbalance,
    link,
    standstill,
    straggler,
    tail,
)
from paceline.diagnose.questions import input as loading
from paceline.diagnose.waits import waits
from paceline.model import Cause, Cluster, Finding, InputError, ModelError, Profile, Report

QUESTIONS = (
    hang,
    straggler,
    standstill,
    link,
    communication,
    host,
    loading,
    imbalance,
    tail,
    fidelity,
)
CODES: tuple[Code, ...] = tuple(code for question in QUESTIONS for code in question.CODES)


def report(profile: Profile, cluster: Cluster | None = None) -> Report:
    """All findings by cost, and what was checked."""
    if not profile.measured and profile.stuck:
        return _hanging(profile)
    if not profile.measured:
        raise ModelError(
            "the profile holds no measured step.",
            expected="A diagnosis needs at least one complete step with times.",
            cure="Record a few steps of steady training.",
        )
    evidence = case(profile, cluster)
    lengths = np.array([line.step_ns for line in profile.measured], dtype=np.float64)
    median, low, high = (float(value) for value in np.percentile(lengths, (50, 10, 90)))
    spent = waits(profile)
    return Report(
        findings=_ordered([found for question in QUESTIONS for found in question.ask(evidence)]),
        checked=tuple(question.NAME for question in QUESTIONS),
        step_ns=(median, low, high),
        workers=len(profile.workers),
        missing_workers=profile.missing_workers,
        steps=len(profile.measured),
        events=profile.events,
        simulated_step_ns=evidence.step_ns,
        simulation_error=fidelity.error(evidence),
        alignment=profile.alignment,
        residual_ns=profile.residual_ns,
        collectives=spent.collectives,
        transfer_ns=spent.transfer_ns,
        waits=spent.per_worker,
        critical_path=path_parts(profile),
        links=links(cluster),
        sources=profile.sources,
    )


def _hanging(profile: Profile) -> Report:
    """The report on a run that hung before its first whole step."""
    return Report(
        findings=tuple(hang.asked(profile)),
        checked=(hang.NAME,),
        step_ns=(0.0, 0.0, 0.0),
        workers=len(profile.workers),
        missing_workers=profile.missing_workers,
        events=profile.events,
        alignment=profile.alignment,
        residual_ns=profile.residual_ns,
        sources=profile.sources,
    )


def failed(report: Report, text: str) -> bool:
    """True if the report does not pass the gate, like `straggler>5%`."""
    return gate.failed(report, text, {question.NAME: question.CODES for question in QUESTIONS})


def explained(code: str) -> Code:
    """The code of a finding, by its number or its rule."""
    for row in CODES:
        if code.upper() == row.code or code == row.rule:
            return row
    raise InputError(
        f"{code!r} is no code of a finding.", expected=f"Codes run from {CODES[0].code}.",
        cure="`paceline explain` lists them all.",
    )  # fmt: skip


def _ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    """Hangs first: nothing else matters before; then by cost, those without one last."""
    return tuple(
        sorted(findings, key=lambda found: (found.cause is not Cause.HANG, -(found.cost_ns or 0.0)))
    )


__all__ = ["CODES", "QUESTIONS", "explained", "failed", "report"]
