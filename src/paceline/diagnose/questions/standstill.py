"""Which worker pauses now and then: long standstills in some steps, not in all."""

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.pauses import pauses
from paceline.model import Cause, Edit, Finding, show_ns

F64 = npt.NDArray[np.float64]

NAME = "standstill"
CODES = (
    Code(
        code="PL105",
        rule="pauses",
        title="A worker pauses in some steps",
        text="In some steps this worker stands still, or one of its ops takes many times its"
        " usual time, more often than on its peers. Look for garbage collection, checkpoints,"
        " page faults, throttling, or another process that wakes up now and then.",
    ),
)
LEAST = 0.02  # of a step: every job pauses a little


def ask(case: Case) -> list[Finding]:
    """One finding for each worker whose outliers cost more than chance would have it."""
    found = pauses(case)
    findings: list[Finding] = []
    for rank in found.blamed:
        only = case.graph.worker == rank
        cost = case.regained(case.duration - found.longer * only, case.lead - found.later * only)
        if cost.value >= LEAST * case.step_ns:
            findings.append(_finding(rank, found.of(rank, case), cost.value, cost.interval))
    return findings


def _finding(rank: int, mine: F64, cost: float, interval: tuple[float, float] | None) -> Finding:
    hit = mine > 0
    return Finding(
        code="PL105",
        rule="pauses",
        subject=f"worker {rank}",
        worker=rank,
        cause=Cause.STALL,
        cost_ns=cost,
        interval_ns=interval,
        evidence=(
            f"{int(hit.sum())} of {len(mine)} steps stand still for {show_ns(mine[hit].mean())}",
        ),
        advice="Find what runs here now and then: garbage collection, checkpoints, other jobs.",
        edit=Edit("typical", (("worker", rank),)),
    )
