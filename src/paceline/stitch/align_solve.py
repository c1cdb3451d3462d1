"""Robust least squares for clock corrections: ends that should coincide, a line for each clock.

The correction of clock u at z (its time, scaled to -.5 to .5 over what was observed) is
p[u] + q[u] * z. The common moment of each meet is eliminated; Cauchy weights, reweighted until
nothing moves, let wrong matches and late threads count for little. Drift has a prior: quartz keeps
within 100 ppm, and an extent of milliseconds must not be asked for more.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I64
from paceline.stitch.meeting import runs

BOOL = npt.NDArray[np.bool_]
_TUNED = 2.385  # Cauchy weights are 95 % efficient on Gaussian scatter here
_GAUSSIAN = 1.4826
_ROUNDS = 40
_STEPS = 2000  # of conjugate gradients: chains of workers need about their length
_FEWEST = 16  # rows from which a family's own scatter is known
_FINEST_NS = 100.0
PRIOR = 100e-6


@dataclass(frozen=True, slots=True)
class Observed:
    """Moments that coincide: rows of one meet are neighbors.

    `at` is the moment on the rough common clock, `z` the scaled time on the own clock. Where
    `sigma` is NaN, the scatter of the family is estimated.
    """

    meet: I64
    unit: I64
    at: F64
    z: F64
    family: I64
    sigma: F64

    def __len__(self) -> int:
        return len(self.meet)

    def only(self, kept: BOOL) -> "Observed":
        """The rows of a mask, without meets of which fewer than two remain."""
        rows = np.flatnonzero(kept)
        meets = runs(self.meet[rows])
        rows = rows[meets.counts[meets.run] > 1]
        return Observed(
            runs(self.meet[rows]).run, self.unit[rows], self.at[rows],
            self.z[rows], self.family[rows], self.sigma[rows],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fit:
    """Corrections by unit, and by row the weight, the scatter and what is left over."""

    p: F64
    q: F64
    weight: F64
    sigma: F64
    residual: F64


def solved(observed: Observed, extent: F64, tied: BOOL, drifting: BOOL) -> Fit:
    """The corrections under which the moments of each meet coincide best.

    Only `tied` units are corrected, and only `drifting` ones by a slope; `extent` is the length of
    each unit's z in ns.
    """
    p, q = np.zeros((2, len(extent)))
    first = runs(observed.meet).first
    corrections = int(tied.sum() + (tied & drifting).sum())
    shrunk = _shrunk(first, corrections)
    weight, sigma, residual = np.zeros((3, len(observed)))
    for turn in range(_ROUNDS):
        corrected = observed.at + p[observed.unit] + q[observed.unit] * observed.z
        center = _means(corrected, weight, observed.meet) if turn else _medians(corrected, first)
        residual = (corrected - center[observed.meet]) * shrunk
        sigma = _scatters(residual, observed, corrections)
        weight = 1 / (sigma**2 * (1 + (residual / (_TUNED * sigma)) ** 2))
        step_p, step_q = _step(observed, corrected, weight, (extent, q), (tied, drifting))
        p, q = p + step_p, q + step_q
        if max(np.abs(step_p).max(initial=0), np.abs(step_q).max(initial=0)) < 0.5:
            break
    return Fit(p, q, weight, sigma, residual)


def _shrunk(first: I64, corrections: int) -> F64:
    """How much smaller than the members' own scatter residuals are, by row.

    They are taken against the mean of few members, after corrections that fit these very rows.
    """
    size = np.diff(first).astype(np.float64)
    free = float(first[-1]) - len(size)
    fitted = np.sqrt(max(free, 1.0) / max(free - corrections, 1.0))
    return np.repeat(fitted * np.sqrt(size / np.maximum(size - 1, 1)), np.diff(first))


def _means(values: F64, weight: F64, meet: I64) -> F64:
    return np.bincount(meet, weight * values) / np.bincount(meet, weight)


def _medians(values: F64, first: I64) -> F64:
    """The median of each run of neighbors."""
    run = np.repeat(np.arange(len(first) - 1), np.diff(first))
    ordered = values[np.lexsort((values, run))]
    low, high = (first[:-1] + first[1:] - 1) // 2, (first[:-1] + first[1:]) // 2
    middle: F64 = 0.5 * (ordered[low] + ordered[high])
    return middle


def _scatters(residual: F64, observed: Observed, corrections: int) -> F64:
    """The robust scatter of each row's family, or of all where a family is small."""
    sigma = observed.sigma.copy()
    asked = np.flatnonzero(np.isnan(sigma))
    if not len(asked):
        return sigma
    size = np.abs(residual[asked])
    # as many residuals as there are corrections may vanish without meaning anything
    telling = np.sort(size)[min(corrections, len(size) - 1) :]
    overall = max(_GAUSSIAN * float(np.median(telling)), _FINEST_NS)
    families = runs(observed.family[asked])
    middle = _GAUSSIAN * _medians(size[families.order], families.first)
    own = np.where(families.counts >= _FEWEST, np.maximum(middle, overall / 8), overall)
    sigma[asked] = np.maximum(own, _FINEST_NS)[families.run]
    return sigma


def _step(
    observed: Observed, corrected: F64, weight: F64, slopes: tuple[F64, F64],
    free: tuple[BOOL, BOOL],
) -> tuple[F64, F64]:  # fmt: skip
    """One Gauss-Newton step, by conjugate gradients on the normal equations."""
    from scipy.sparse.linalg import LinearOperator, cg

    (extent, q), (tied, drifting) = slopes, free
    unit, z, meet, count = observed.unit, observed.z, observed.meet, len(extent)
    total = np.bincount(meet, weight)
    prior = 1 / (PRIOR * np.maximum(extent, 1.0)) ** 2
    mask = np.concatenate([tied, tied & drifting]).astype(np.float64)

    def spread(values: F64) -> F64:
        centered = weight * (values - (np.bincount(meet, weight * values) / total)[meet])
        sums = (np.bincount(unit, part, minlength=count) for part in (centered, centered * z))
        return np.concatenate([*sums]).astype(np.float64)

    def normal(x: F64) -> F64:
        x = np.asarray(x, dtype=np.float64).ravel() * mask
        out = spread(x[unit] + x[count + unit] * z)
        out[count:] += prior * x[count:]
        return out * mask + (1 - mask) * 1e-30 * x

    right = -spread(corrected)
    right[count:] -= prior * q
    right *= mask
    diagonal = np.concatenate([
        np.bincount(unit, weight, minlength=count),
        np.bincount(unit, weight * z**2, minlength=count) + prior,
    ])  # fmt: skip
    inverse = mask / np.where(diagonal > 0, diagonal, 1.0)
    operator = LinearOperator((2 * count, 2 * count), matvec=normal, dtype=np.float64)
    ahead = LinearOperator((2 * count, 2 * count), matvec=lambda x: inverse * x, dtype=np.float64)
    step, _ = cg(operator, right, rtol=1e-9, maxiter=_STEPS, M=ahead)
    return step[:count] * mask[:count], step[count:] * mask[count:]
