"""Means with intervals over steps, and how sure a difference from zero is.

Steps are the sample: what a finding states is what one thing costs on average over the recorded
steps, and how far that average may be off.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

F64 = npt.NDArray[np.float64]


class Mean(NamedTuple):
    """A mean over `steps` steps with its standard error (infinite for one step)."""

    value: float
    error: float
    steps: int

    def half(self, tests: int = 1) -> float:
        """Half the 95 % interval; with several tests, that of all of them together."""
        if self.steps < 2:
            return float("inf")
        return float(stdtrit(self.steps - 1, 1 - 0.025 / tests)) * self.error

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval, None where one step says nothing about the next."""
        half = self.half()
        return (self.value - half, self.value + half) if np.isfinite(half) else None

    def sure(self, tests: int, least: float, *, alone: float = 5) -> bool:
        """True if the mean reaches `least` and is above zero by more than chance in `tests` looks.

        Of a single step nobody knows how it varies: only what is `alone` times as large counts.
        """
        half = self.half(tests)
        if not np.isfinite(half):
            return self.value >= alone * least
        return self.value >= least and self.value > half


def mean(values: F64) -> Mean:
    """The mean of steps that do not depend on each other."""
    count = len(values)
    error = float(values.std(ddof=1)) / count**0.5 if count > 1 else float("inf")
    return Mean(float(values.mean()) if count else 0.0, error, count)
