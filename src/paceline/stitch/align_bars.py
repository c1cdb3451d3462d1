"""How sure the corrections are: half-widths of 95 % intervals.

Scatter of what is left over, with few effective observations where neighbors in time agree with
each other, plus a floor for what no averaging removes: a worker may leave a kind of collective
late every time. Bars add up along the path of workers to the first one.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64
from paceline.stitch.align_solve import PRIOR, Fit, Observed
from paceline.stitch.meeting import packed, runs

_BIAS = 0.5  # part of the scatter of single events that may be the same on all of them


@dataclass(frozen=True, slots=True)
class Bars:
    """By unit: the bar of a correction anywhere in the observed time, and that of the slope q."""

    correction_ns: F64
    slope_ns: F64


def bars(observed: Observed, fit: Fit, extent: F64, grain_ns: float) -> Bars:
    """The bars of all units against unit 0; infinite where too little was observed."""
    count = len(extent)
    middle, slope = np.full((2, count), np.inf)
    of_unit = runs(observed.unit)
    for part in np.split(of_unit.order, of_unit.first[1:-1]):
        if len(part):
            unit = int(observed.unit[part[0]])
            middle[unit], slope[unit] = _variances(observed, fit, part, float(extent[unit]))
    # what whole microseconds hide is the same whenever the same thing happens
    middle += (1.96 * grain_ns / 2) ** 2
    along = _along_path(observed, count, np.stack([middle, slope], axis=1))
    return Bars(np.sqrt(along[:, 0]), np.minimum(np.sqrt(along[:, 1]), 2 * PRIOR * extent))


def _variances(observed: Observed, fit: Fit, rows: I64, extent: float) -> tuple[float, float]:
    """Squared bars of one unit against the consensus of those it meets, middle and slope."""
    from scipy.special import stdtrit

    if len(rows) < 2:
        return np.inf, np.inf
    rows = rows[np.argsort(observed.z[rows], kind="stable")]
    weight, z, sigma = fit.weight[rows], observed.z[rows], fit.sigma[rows]
    total = float(weight.sum())
    center = float((weight * z).sum()) / total
    lever = float((weight * (z - center) ** 2).sum()) + 1 / (PRIOR * extent) ** 2
    crowd = _crowding(weight * fit.residual[rows] * sigma)
    steady = (_BIAS * float((weight * sigma).sum()) / total) ** 2
    steady += _between(weight, fit.residual[rows], observed.family[rows], crowd)
    # scatter known from few rows, many of them spent on corrections: Student's t, not 1.96
    wide = float(stdtrit(max(len(rows) / (2 * crowd) - 1, 1), 0.975)) ** 2
    slope = wide * crowd / lever
    middle = wide * crowd / total + 1.96**2 * steady
    return middle + slope * (0.5 + abs(center)) ** 2, slope


def _crowding(standard: F64) -> float:
    """How many neighbors in time say the same thing: 1 where all are independent."""
    length = int(np.sqrt(len(standard)))
    if length < 5:
        return 1.0
    blocks = standard[: len(standard) // length * length].reshape(-1, length).mean(axis=1)
    alone = float(standard.var())
    return float(np.clip(blocks.var() * length / alone, 1, length)) if alone > 0 else 1.0


def _between(weight: F64, residual: F64, family: I64, crowd: float) -> float:
    """Variance of the mean from families that disagree with each other beyond their scatter."""
    families = runs(family)
    if len(families.counts) < 2:
        return 0.0
    each = np.bincount(families.run, weight)
    mean = np.bincount(families.run, weight * residual) / each
    total = float(each.sum())
    overall = float((each * mean).sum()) / total
    excess = float((each * (mean - overall) ** 2).sum()) - (len(each) - 1) * crowd
    spread = total - float((each**2).sum()) / total
    if excess <= 0 or spread <= 0:
        return 0.0
    return excess / spread * float((each**2).sum()) / total**2


def _along_path(observed: Observed, count: int, own: F64) -> F64:
    """Sums of the units' squared bars along the shortest chain of families to unit 0."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    pairs = runs(packed(observed.unit, observed.family)).heads
    families = int(observed.family.max(initial=-1)) + 1
    shape = (count + families, count + families)
    links = (observed.unit[pairs], count + observed.family[pairs])
    graph = csr_array((np.ones(len(pairs)), links), shape=shape)
    visited, parents = breadth_first_order(graph, 0, directed=False)
    sums = np.full((count + families, 2), np.inf)
    sums[0] = own[0]
    for place in visited[1:]:
        step = own[place] if place < count else 0.0
        sums[place] = sums[parents[place]] + step
    return sums[:count]
