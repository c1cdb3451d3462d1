"""Fits offset and drift of all clocks at once, and says how sure each is.

Rounds of robust least squares: bounds from messages sharpen as the clocks fall into place, jumps
are found and left out, drifts that are not significant become none, and at last clocks move within
their error until nothing arrives before it was sent.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paceline.model import F64
from paceline.stitch.align_bars import bars
from paceline.stitch.align_feasible import Early, Evidence, repaired, room_ns
from paceline.stitch.align_jumps import Jump, clearest, measured
from paceline.stitch.align_observe import Corrections, observed, scale_of
from paceline.stitch.align_solve import Fit, Observed, solved
from paceline.stitch.align_ties import thinned
from paceline.stitch.meeting import runs

BOOL = npt.NDArray[np.bool_]
_ROUNDS = 2
_REPAIRS = 3
_MOST_ROWS = 400_000  # of collectives; more cost time and tell nothing new
_MOST_JUMPS = 6
_GRAIN_NS = 1.0
_SAMPLE = 10_000


@dataclass(frozen=True, slots=True)
class Fitted:
    """Corrections with their bars, infinite where nothing ties the unit to the first one.

    `early` are the orders violated by more than the bars explain, `jumps` the clock jumps that
    were found on the way.
    """

    known: Corrections
    bar_ns: F64
    slope_bar_ns: F64
    residual_ns: float | None
    jumps: tuple[Jump, ...]
    early: Early


def fitted(evidence: Evidence) -> Fitted:
    """The corrections of all clocks that are tied to the first unit's."""
    units = evidence.units
    scale = scale_of(units, evidence.meets, evidence.orders)
    tied = units.component == 0
    tied[0] = False
    free = (tied, tied)
    rows, fit = _rounds(evidence, Corrections(scale, *np.zeros((2, len(units)))), free)
    rows, fit, jumps = _without_jumps(rows, fit, scale.extent, free)
    grain = _grain_ns(evidence)
    own = bars(rows, fit, scale.extent, grain)
    drifting = tied & (np.abs(fit.q) > own.slope_ns)
    given_up = np.where(drifting, 0.0, fit.q)
    fit = solved(rows, scale.extent, tied, drifting)
    bar = np.sqrt(own.correction_ns**2 + (given_up / 2) ** 2)
    bar = np.where(units.component == 0, _at_least_once(evidence, bar), np.inf)
    bar[0] = 0.0
    for jump in jumps:
        bar[jump.unit] = max(bar[jump.unit], abs(jump.ahead_ns))
    evidence = replace(evidence, jumps=jumps)
    known = Corrections(scale, fit.p, fit.q)
    movable = np.where(tied & np.isfinite(bar), bar, 0.0)
    moved, pairs = _repaired(evidence, known, movable, drifting)
    bar = bar + np.abs(moved.p - known.p) + np.abs(moved.q - known.q) / 2
    if not (pairs.late_ns > _GRAIN_NS).any():
        slope = np.where(np.isfinite(own.slope_ns), own.slope_ns, 0.0)
        room = room_ns(len(units), pairs) + 2 * grain + slope
        bar = np.minimum(bar, room)
    explained = bar[pairs.before] + bar[pairs.after] + _GRAIN_NS
    early = pairs.rows(np.flatnonzero(pairs.late_ns > explained))
    return Fitted(moved, bar, own.slope_ns, _residual(rows, fit), jumps, early)


def _rounds(
    evidence: Evidence, known: Corrections, free: tuple[BOOL, BOOL]
) -> tuple[Observed, Fit]:
    """The fit; bounds from messages are read anew as the clocks fall into place."""
    some = thinned(evidence.meets, _MOST_ROWS)
    rows = observed(evidence.units, some, evidence.orders, known)
    fit = solved(rows, known.scale.extent, *free)
    for _ in range(_ROUNDS if len(evidence.orders) else 0):
        known = Corrections(known.scale, fit.p, fit.q)
        rows = observed(evidence.units, some, evidence.orders, known)
        fit = solved(rows, known.scale.extent, *free)
    return rows, fit


def _without_jumps(
    rows: Observed, fit: Fit, extent: F64, free: tuple[BOOL, BOOL]
) -> tuple[Observed, Fit, tuple[Jump, ...]]:
    found: list[tuple[Jump, Observed]] = []
    while len(found) < _MOST_JUMPS and (jump := clearest(rows, fit)) is not None:
        found.append((jump, rows))
        rows = rows.only(~jump.loses(rows.unit, rows.z))
        fit = solved(rows, extent, *free)
    return rows, fit, tuple(measured(jump, seen, fit) for jump, seen in found)


def _repaired(
    evidence: Evidence, known: Corrections, movable: F64, drifting: BOOL
) -> tuple[Corrections, Early]:
    """Corrections moved until no order is violated, if they can, and all orders after that."""
    pairs = evidence.pairs(known)
    for _ in range(_REPAIRS):  # a clock that moved may make another one the last to arrive
        nearer, left = repaired(pairs, known, movable, drifting.astype(np.float64))
        if nearer is known:
            break
        known, pairs = nearer, evidence.pairs(nearer)
        if left > 0:
            break
    return known, pairs


def _at_least_once(evidence: Evidence, bar: F64) -> F64:
    """Bars, where a unit was seen too rarely for one: as long as its shortest collective."""
    meets = evidence.meets
    own = runs(meets.meet)
    duration = (meets.end_ns - meets.start_ns).astype(np.float64)
    shortest = np.minimum.reduceat(duration, own.first[:-1]) if len(meets) else np.empty(0)
    once = np.full(len(bar), np.inf)
    np.minimum.at(once, evidence.units.of_trace[meets.trace], shortest[own.run])
    return np.where(np.isfinite(bar), bar, once)


def _grain_ns(evidence: Evidence) -> int:
    """What all times are multiples of, up to the whole microseconds that some tools write."""
    units, meets, orders = evidence.units, evidence.meets, evidence.orders
    first_ns = units.start_ns[units.of_trace]
    since = np.concatenate([
        meets.end_ns - first_ns[meets.trace], orders.after_ns - first_ns[orders.after]
    ])  # fmt: skip
    return min(int(np.gcd.reduce(since[:_SAMPLE])), 1000) if len(since) else 0


def _residual(rows: Observed, fit: Fit) -> float | None:
    ends = np.isnan(rows.sigma)
    return float(np.median(np.abs(fit.residual[ends]))) if ends.any() else None
