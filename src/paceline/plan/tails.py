"""The expected maximum over workers whose step times have a spread, not only a mean.

A spread is taken as piecewise linear between its deciles, workers as independent: the slowest of n
takes E max = integral of (1 - product of F_i) from the start on. Classes of workers are ordered
so that a later one is never likelier to be early; where spreads cross, a faster stand-in bounds.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from paceline.model import F64, I64

LEVELS = np.linspace(0.0, 1.0, 11)
# within a cell, mass of a maximum of many gathers at the end: nodes get denser toward it
_TOWARD_END = 1 - np.concatenate([0.5 ** np.arange(0, 30), [0.0]])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tails:
    """Quantiles of each class of workers, one row a class; rows of `lower` are ordered."""

    quantiles_s: F64  # (classes, 11)

    @property
    def lower(self) -> F64:
        """For each class the pointwise fastest among it and all later ones."""
        return np.minimum.accumulate(self.quantiles_s[::-1], axis=0)[::-1]


def expected_max(quantiles_s: F64, counts: I64 | list[int]) -> float:
    """The expected time of the slowest among `counts` workers of each class."""
    number = np.asarray(counts, dtype=np.float64)
    used = np.flatnonzero(number)
    rows, number = quantiles_s[used], number[used]
    if number.sum() == 1 or (rows == rows[:, :1]).all():
        return float(rows.max()) if number.sum() > 1 else _mean(rows[0])
    floor = float(rows[:, 0].max())
    edges = np.unique(np.concatenate([rows.ravel(), [floor]]))
    edges = edges[edges >= floor]
    total = floor
    for start, stop in pairwise(edges.tolist()):
        cuts = start + (stop - start) * _TOWARD_END
        half = np.diff(cuts)[:, None] / 2
        spots = cuts[:-1, None] + half * (1 + _NODES)
        below = np.zeros_like(spots)
        for row, workers in zip(rows, number, strict=True):
            with np.errstate(divide="ignore"):
                below += workers * np.log(_reached(row, spots))
        total += float((half * _WEIGHTS * (1 - np.exp(below))).sum())
    return total


def _reached(row: F64, times: F64) -> F64:
    """The part of a distribution up to each time, from its start on."""
    last = np.append(row[1:] > row[:-1], [True])
    return np.interp(times, row[last], LEVELS[last])


def _mean(row: F64) -> float:
    return float((row[:-1] + row[1:]).mean() / 2)
