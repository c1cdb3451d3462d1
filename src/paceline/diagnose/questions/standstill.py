"""Which worker pauses now and then: long standstills in some steps, not in all.

An op that in a single step takes far longer than it usually does, or begins far later, is an
outlier. Every job has some, spread evenly; a worker whose outliers cost more than its peers' has a
cause of its own.
"""

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.interval import mean
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
    longer = outliers(case.duration, case.step_ns) * case.own()
    later = outliers(case.lead, case.step_ns) * (case.own() & ~case.begins())
    amount = {rank: (longer + later)[:, graph.worker == rank].sum(axis=1) for rank in graph.workers}
    table = np.array(list(amount.values()))
    found: list[Finding] = []
    for at, (rank, mine) in enumerate(amount.items()):
        others = np.delete(table, at, axis=0).mean(axis=0)
        if not mean(mine - others).sure(len(amount), case.least_ns):
            continue
        only = graph.worker == rank
        cost = case.regained(case.duration - longer * only, case.lead - later * only)
        if cost.sure(len(amount), case.least_ns):
            found.append(_finding(rank, mine, cost.value, cost.interval))
    return found


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
