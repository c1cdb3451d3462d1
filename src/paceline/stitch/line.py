"""Time by size, as a straight line through many noisy transfers: a start-up time and time per byte.

Huber's estimate with errors relative to the time, so that a few transfers that were held up change
little. Its variance allows for transfers of one step that were held up together (the sandwich of
clustered observations); intervals are 95 %, by Student's t with one observation a step.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64
from paceline.stitch.nest import Mask

_NEAR = 0.3  # of a standard deviation: what lies farther off counts no more than this
_ROUNDS = 50
_SKEW = 0.2  # of the scatter: how far those held up may have moved the middle, however many it has
_FLATTEST = 1e-6  # least relative scatter that is believed


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """time = start_ns + byte_ns * bytes; each with the half-width of its 95 % interval.

    The `clock` fields say by how much each changes if the clocks of the two ends differ by 1 ns
    more than was thought.
    """

    start_ns: float
    start_half_ns: float
    start_clock: float
    byte_ns: float
    byte_half_ns: float
    byte_clock: float


def line(size: F64, time_ns: F64, step: I64, crossed: F64, *, starts: bool) -> Line | None:
    """The line through transfers, or None where they are too few; from 0 unless it `starts`.

    `crossed` is 1 for a time that was taken on two clocks and 0 for one taken on one.
    """
    from scipy.special import stdtrit

    unit = max(float(size.max(initial=0.0)), 1.0)
    basis = size[:, None] / unit
    if starts:
        basis = np.column_stack((np.ones(len(size)), basis))
    blocks = _blocks(step, basis.shape[1])
    free = int(blocks.max(initial=-1)) + 1 - basis.shape[1]
    if free < 1:
        return None
    found, near, scale, spread = _estimate(basis, time_ns)
    inner = basis[near] / scale[near, None]
    bread = _inverse(inner.T @ inner)
    pull = np.clip((time_ns - basis @ found) / scale, -_NEAR, _NEAR)
    score = np.zeros((free + basis.shape[1], basis.shape[1]))
    np.add.at(score, blocks, pull[:, None] * basis / scale[:, None])
    score *= np.sqrt(len(score) / (len(score) - 1))
    variance = np.diagonal(bread @ (score.T @ score) @ bread)
    wide = float(stdtrit(float(free), 0.975)) * np.sqrt(variance)
    half: F64 = np.sqrt(wide**2 + (_SKEW * spread * found) ** 2)
    clock = bread @ (inner.T @ (crossed[near] / scale[near]))
    return Line(
        start_ns=float(found[0]) if starts else 0.0,
        start_half_ns=float(half[0]) if starts else 0.0,
        start_clock=float(clock[0]) if starts else 0.0,
        byte_ns=float(found[-1]) / unit,
        byte_half_ns=float(half[-1]) / unit,
        byte_clock=float(clock[-1]) / unit,
    )


def _blocks(step: I64, unknowns: int) -> I64:
    """The block of each transfer: its step, or of few steps itself."""
    found, block = np.unique(step, return_inverse=True)
    return block if len(found) >= unknowns + 2 else np.arange(len(step))


def _estimate(basis: F64, time_ns: F64) -> tuple[F64, Mask, F64, float]:
    """Coefficients, who lies near the line, and the scatter of each, as a time and of its time."""
    typical = _typical(basis[:, -1], time_ns)
    found, scale, fitted, spread = np.zeros(basis.shape[1]), typical, typical, 0.0
    for _ in range(_ROUNDS):
        relative = (time_ns - fitted) / np.maximum(fitted, 0.1 * typical)
        spread = max(1.4826 * float(np.median(np.abs(relative))), _FLATTEST)
        scale = spread * np.maximum(fitted, 0.1 * typical)
        off = np.abs(time_ns - fitted) / scale
        weight = np.sqrt(np.minimum(1.0, _NEAR / np.maximum(off, 1e-12))) / scale
        found = _inverse(basis * weight[:, None]) @ (time_ns * weight)
        before, fitted = fitted, basis @ found
        if np.allclose(fitted, before, rtol=1e-9, atol=0):
            break
    return found, np.abs(time_ns - fitted) < _NEAR * scale, scale, spread


def _typical(size: F64, time_ns: F64) -> F64:
    """The median time of transfers of about the size of each."""
    about = np.unique(np.frexp(size)[1], return_inverse=True)[1]
    medians = [float(np.median(time_ns[about == at])) for at in range(int(about.max()) + 1)]
    return np.array(medians)[about]


def _inverse(matrix: F64) -> F64:
    """The pseudo-inverse: where sizes tell two unknowns not apart, no error but a wide interval."""
    return np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
