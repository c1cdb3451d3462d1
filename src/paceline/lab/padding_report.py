"""padding-RANK.json: how well a worker behaved like its machine, step by step.

Written now and then and at the end, so a worker that is killed leaves it as well. `late` is what a
step took beyond what was asked and could not make up for: the sign of too little room on the cores.
"""

import statistics
from pathlib import Path

import msgspec

from paceline.lab.lab_file import LabMachine
from paceline.lab.padding_account import Account

KEPT = 5000  # steps


class PaddedStep(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Of forward and backward of one step: asked, measured from begin to end, and parts of it.

    `own_ns` is real compute (with waiting for a core), `blocked_ns` neither computed nor padded:
    injected pauses, and what the worker waited for in the middle of a phase.
    """

    step: int
    asked_ns: int
    took_ns: int
    own_ns: int
    blocked_ns: int
    late_ns: int
    overrun_ns: int


class PaddingReport(msgspec.Struct, frozen=True, kw_only=True):
    """Medians in ms, shares of all that was asked, and the last steps."""

    schema: int = 1
    rank: int
    machine: str
    speed: float
    compute_ms: float | None
    exact: bool
    asked_ms: float
    took_ms: float
    late_share: float
    overrun_share: float
    own_share: float
    steps: list[PaddedStep]


def padded_step(step: int, account: Account, took_ns: int) -> PaddedStep:
    """What the account of a step says."""
    return PaddedStep(
        step=step, asked_ns=account.asked, took_ns=took_ns, own_ns=account.own,
        blocked_ns=max(0, took_ns - account.own - account.worked), late_ns=account.late(),
        overrun_ns=account.overrun,
    )  # fmt: skip


def save_report(
    folder: Path,
    steps: list[PaddedStep],
    *,
    rank: int,
    machine: LabMachine,
    compute_ms: float | None,
    exact: bool,
) -> None:
    """Writes the report of the padded steps."""
    padded = [step for step in steps if step.asked_ns > 0]
    asked = sum(step.asked_ns for step in padded) or 1
    report = PaddingReport(
        rank=rank, machine=machine.name, speed=machine.speed, compute_ms=compute_ms, exact=exact,
        asked_ms=statistics.median(s.asked_ns for s in padded) / 1e6 if padded else 0.0,
        took_ms=statistics.median(s.took_ns for s in padded) / 1e6 if padded else 0.0,
        late_share=sum(s.late_ns for s in padded) / asked,
        overrun_share=sum(s.overrun_ns for s in padded) / asked,
        own_share=sum(s.own_ns for s in padded) / asked,
        steps=steps[-KEPT:],
    )  # fmt: skip
    part = folder / f".padding-{rank}.part"  # not synced: that would take as long as a step
    part.write_bytes(msgspec.json.encode(report) + b"\n")
    part.replace(folder / f"padding-{rank}.json")


def load_report(folder: Path, rank: int) -> PaddingReport:
    """The report of one worker."""
    path = folder / f"padding-{rank}.json"
    return msgspec.json.decode(path.read_bytes(), type=PaddingReport)
