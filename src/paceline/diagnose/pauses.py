"""Which workers pause now and then, more often or longer than chance would have it.

Every job has outliers: ops that in a single step take far longer than usual, or begin far later.
If they hit anybody, each worker has its share; a worker that has more has a cause of its own. Ops
of which a straggler makes most are left out: what varies there is its own doing.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.outliers import outliers

F64 = npt.NDArray[np.float64]

ERROR = 0.01  # how often a job in which pauses hit anybody is blamed on a worker
FEWEST = 4  # steps below which nothing is said


class Pauses(NamedTuple):
    """By (step, op): what durations and leads exceed their usual by; and who is to blame."""

    longer: F64
    later: F64
    blamed: tuple[int, ...]

    def of(self, rank: int, case: Case) -> F64:
        """The pauses of one worker by step."""
        return (self.longer + self.later)[:, case.graph.worker == rank].sum(axis=1)


def pauses(case: Case) -> Pauses:
    """The outliers of all workers, and the workers that have more of them than chance gives."""
    graph, own = case.graph, case.own()
    longer = outliers(case.duration, graph.work, case.step_ns) * (own & ~case.always(0))
    later = outliers(case.lead, graph.work, case.step_ns) * (own & ~case.always(1))
    later *= ~case.begins()
    found = Pauses(longer, later, ())
    ranks = graph.workers
    if len(case.base_ns) < FEWEST or len(ranks) < 2:
        return found
    amount = np.array([found.of(rank, case) for rank in ranks])
    chance = _by_chance(amount)
    much = (amount.mean(axis=1) >= case.least_ns) & (amount.sum(axis=1) > chance)
    return found._replace(
        blamed=tuple(rank for rank, is_so in zip(ranks, much, strict=True) if is_so)
    )


def _by_chance(table: F64) -> float:
    """What one worker's outliers may sum to if in each step they had hit anybody.

    Pauses are rare and large, so means and their errors say little; who has them says all.
    """
    workers, steps = table.shape
    draws = int(np.clip(4000 * workers, 20_000, 200_000))
    pick = np.random.default_rng(0).integers(0, workers, (draws, steps))
    sums = table[pick, np.arange(steps)].sum(axis=1)
    return float(np.quantile(sums, 1 - ERROR / workers))
