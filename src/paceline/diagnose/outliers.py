"""By how much single entries of a (step, op) table stand out from the usual of their op."""

import numpy as np
import numpy.typing as npt

from paceline.diagnose.peers import columnwise_median

F64 = npt.NDArray[np.float64]
LEAST = 0.015  # of a step: a shorter outlier is noise


def outliers(values: F64, step_ns: float) -> F64:
    """What entries exceed their op's usual by, where that is a standstill; else 0."""
    beyond = values - columnwise_median(values)
    return np.where(beyond > LEAST * step_ns, beyond, 0.0)
