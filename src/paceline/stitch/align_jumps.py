"""Finds clocks that jumped while they were recorded, as time servers make them do.

What the fit leaves over of one clock is cut into blocks; a jump is a step in the block medians that
explains much more than a curve does. One clock at a time: the clearest jump, whose shorter side is
then left out of the fit.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I64
from paceline.stitch.align_solve import Fit, Observed
from paceline.stitch.meeting import runs

_BLOCKS = 64
_EACH = 4  # rows a block must have
_FEWEST = 10
_EDGE = 2  # blocks on either side of a jump
_SURE = 8.0  # jumps smaller than this many standard errors may be noise
_SMALLEST_NS = 10_000.0


@dataclass(frozen=True, slots=True)
class Jump:
    """Where in its scaled time a unit's clock jumped, and by how much it then was ahead."""

    unit: int
    z: float
    ahead_ns: float
    clear: float
    lost_z: tuple[float, float]  # the shorter side, with the block in which it happened

    def loses(self, unit: I64, z: F64) -> npt.NDArray[np.bool_]:
        """Rows of the shorter side, which say nothing of the clock any more."""
        return (unit == self.unit) & (z >= self.lost_z[0]) & (z <= self.lost_z[1])


def clearest(observed: Observed, fit: Fit) -> Jump | None:
    """The clearest jump of all clocks, None where there is none."""
    found: Jump | None = None
    of_unit = runs(observed.unit)
    crowded = runs(observed.meet).counts[observed.meet] > 2
    for part in np.split(of_unit.order, of_unit.first[1:-1]):
        if not len(part):
            continue
        # of two clocks that part nobody can say which jumped; the first one is the measure
        if observed.unit[part[0]] == 0:
            part = part[crowded[part]]  # noqa: PLW2901
        jump = _of_unit(observed, fit, part)
        if jump is not None and (found is None or jump.clear >= found.clear):
            found = jump
    return found


def measured(jump: Jump, observed: Observed, fit: Fit) -> Jump:
    """The jump with its height against the other members, now that all are in their place."""
    corrected = observed.at + fit.p[observed.unit] + fit.q[observed.unit] * observed.z
    mine = observed.unit == jump.unit
    others = np.bincount(observed.meet, np.where(mine, 0.0, corrected))
    count = np.bincount(observed.meet, ~mine)
    lost = jump.loses(observed.unit, observed.z) & (count[observed.meet] > 0)
    if not lost.any():
        return jump
    ahead = corrected[lost] - (others / np.maximum(count, 1))[observed.meet[lost]]
    return replace(jump, ahead_ns=float(np.median(ahead)))


def _of_unit(observed: Observed, fit: Fit, rows: I64) -> Jump | None:
    rows = rows[np.argsort(observed.z[rows], kind="stable")]
    if len(rows) < _FEWEST:
        return None
    few = len(rows) < _FEWEST * _EACH  # then each row is a block
    count = len(rows) if few else min(_BLOCKS, len(rows) // _EACH)
    length = len(rows) // count
    blocks = rows[: count * length].reshape(count, length)
    residual = fit.residual[blocks]
    level = _smooth(residual[:, 0]) if few else np.median(residual, axis=1)
    edge = _EACH if few else _EDGE
    at, height, clear = _step(observed.z[blocks].mean(axis=1), level, edge)
    if few:  # smoothed rows are not independent: more than their scatter, not its mean's
        clear /= np.sqrt(count)
    if clear < _SURE or abs(height) < _SMALLEST_NS:
        return None
    where = observed.z[rows]
    # the block in which it jumped belongs to neither side
    before, after = (at - 1) * length, min((at + 1) * length, len(rows))
    later = len(rows) - after < before
    lost = (float(where[before]), np.inf) if later else (-np.inf, float(where[after - 1]))
    return Jump(int(observed.unit[rows[0]]), float(where[at * length]), height, clear, lost)


def _smooth(values: F64) -> F64:
    """Each value's median with its neighbors: one wrong match among few rows hides no jump."""
    wide = np.pad(values, 1, mode="reflect")
    return np.median(np.stack((wide[:-2], values, wide[2:])), axis=0)


def _step(time: F64, level: F64, edge: int) -> tuple[int, float, float]:
    """The best place of a step in a straight line: its block, height, and standard errors.

    At least `edge` blocks lie on either side of it.
    """
    count = len(time)
    powers = np.stack([np.ones(count), time, time**2, time**3], axis=1)
    line, cubic = np.linalg.qr(powers[:, :2])[0], np.linalg.qr(powers)[0]
    steps = (np.arange(count)[:, None] >= np.arange(edge, count - edge + 1)[None, :]).astype(
        np.float64
    )
    steps = steps - line @ (line.T @ steps)
    rest = level - line @ (line.T @ level)
    curved = level - cubic @ (cubic.T @ level)
    energy = (steps**2).sum(axis=0)
    heights = steps.T @ rest / energy
    left = float(rest @ rest) - heights**2 * energy
    best = int(np.argmin(left))
    noise = max(float(left[best]), 0.0) / (count - 4)
    if float(left[best]) > 0.5 * float(curved @ curved):
        return best + edge, 0.0, 0.0
    height = float(heights[best])
    return best + edge, height, abs(height) / float(np.sqrt(noise / energy[best]) + 1e-9)
