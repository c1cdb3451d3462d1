"""Which worker pauses now and then: long standstills in some steps, not in all.

An op that in a single step takes far longer than it usually does, or begins far later, is an
outlier. Every job has some, spread evenly; a worker whose outliers cost more than its peers' has a
cause of its own.
"""

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.outliers import outliers
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


def ask(case: Case) -> list[Finding]:
    """One finding for each worker whose outliers cost more than those of its peers."""
    graph = case.graph
    if len(case.base_ns) < 4 or len(graph.workers) < 2:
        return []
    longer = outliers(case.duration, graph.work, case.step_ns) * case.own()
    later = outliers(case.lead, graph.work, case.step_ns) * (case.own() & ~case.begins())
    amount = {rank: (longer + later)[:, graph.worker == rank].sum(axis=1) for rank in graph.workers}
    chance = _by_chance(np.array(list(amount.values())))
    found: list[Finding] = []
    for rank, mine in amount.items():
        if mine.mean() < case.least_ns or mine.sum() <= chance:
            continue
        only = graph.worker == rank
        cost = case.regained(case.duration - longer * only, case.lead - later * only)
        if cost.value >= case.least_ns:
            found.append(_finding(rank, mine, cost.value, cost.interval))
    return found


def _by_chance(table: F64) -> float:
    """What one worker's outliers may sum to if in each step they had hit anybody.

    Pauses are rare and large, so means and their errors say little; who has them says all. The
    bound is passed by one of all workers in 2.5 % of the draws.
    """
    workers, steps = table.shape
    draws = int(np.clip(400 * workers, 4000, 100_000))
    pick = np.random.default_rng(0).integers(0, workers, (draws, steps))
    sums = table[pick, np.arange(steps)].sum(axis=1)
    return float(np.quantile(sums, 1 - 0.025 / workers))


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
