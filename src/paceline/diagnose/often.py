"""Which workers are among the slowest more often than chance: ranks, step by step.

Times in which workers are interrupted have tails that no mean tells from a slow worker. But whoever
is no slower than its peers has any rank in a step, and its mean rank over the steps is near the
middle, whatever the tails (Friedman's test). Too few steps or workers for that say nothing.
"""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

ERROR = 0.01  # how often one of workers that are all alike is taken for slower


def often_slow(table: F64) -> npt.NDArray[np.bool_] | None:
    """By row of a (worker, step) table: is it more often high than chance; None if untellable."""
    workers, steps = table.shape
    if workers < 2 or not steps:
        return None
    error = ((workers**2 - 1) / 12 / steps) ** 0.5
    bound = (workers - 1) / 2 + NormalDist().inv_cdf(1 - ERROR / workers) * error
    if bound >= workers - 1:
        return None
    rank = table.argsort(axis=0).argsort(axis=0)
    return rank.mean(axis=1) > bound
