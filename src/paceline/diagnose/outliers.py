"""By how much single entries of a (step, op) table stand out from the usual of their op."""

import numpy as np
import numpy.typing as npt

from paceline.diagnose.peers import columnwise_median, median_of_others

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
LEAST = 0.015  # of a step: a shorter outlier is noise
CALM = 0.2  # share of the steps in which an op at least runs undisturbed


def calm(values: F64) -> F64:
    """What each op takes when undisturbed."""
    return np.quantile(values, CALM, axis=0)


def outliers(values: F64, work: I32, step_ns: float) -> F64:
    """What entries exceed their op's usual by, where that is a standstill; else 0.

    Usual is the median, unless peers and an op's own calm steps agree that it is disturbed more
    often than not.
    """
    median = columnwise_median(values)
    usual = np.minimum(median, np.maximum(calm(values), median_of_others(median, work)))
    beyond = values - usual
    return np.where(beyond > LEAST * step_ns, beyond, 0.0)
