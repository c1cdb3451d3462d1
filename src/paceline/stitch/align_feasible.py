"""Moves clocks, as little as possible and within their error, until nothing arrives too early.

A message cannot be received before it was sent, and a collective cannot end anywhere before its
last member arrived. A linear program moves the corrections; only the moments most violated enter
it, round by round. What cannot be repaired within the error bars is reported, never forced.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from paceline.model import F64, I64
from paceline.stitch.align_jumps import Jump
from paceline.stitch.align_observe import Corrections
from paceline.stitch.align_ties import Meets, Orders
from paceline.stitch.align_units import Units
from paceline.stitch.meeting import packed, runs

_ROUNDS = 12
_STRETCHES = 8
_MOST_BARS = 2.0
_MARGIN_NS = 3.0  # whole nanoseconds are rounded twice
_FORCE = 1000.0  # a violation left costs as much as moving a clock this many error bars for it


@dataclass(frozen=True, slots=True)
class Early:
    """Moments that must not be later than others: columns by pair of moments, and by how much."""

    before: I64
    before_z: F64
    after: I64
    after_z: F64
    late_ns: F64

    def __len__(self) -> int:
        return len(self.before)

    def rows(self, kept: I64) -> "Early":
        """Some of the pairs."""
        return Early(
            self.before[kept], self.before_z[kept], self.after[kept], self.after_z[kept],
            self.late_ns[kept],
        )  # fmt: skip

    def after_moving(self, p: F64, q: F64) -> "Early":
        """The same pairs after corrections of all clocks by p + q * z."""
        ahead = p[self.before] + q[self.before] * self.before_z
        behind = p[self.after] + q[self.after] * self.after_z
        return replace(self, late_ns=self.late_ns + ahead - behind)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that was recorded of the clocks, and which part of it jumps have made worthless."""

    units: Units
    meets: Meets
    orders: Orders
    jumps: tuple[Jump, ...] = ()

    def pairs(self, known: Corrections) -> Early:
        """Every pair of moments whose order is known, and by how much the first is later."""
        units, meets, orders = self.units, self.meets, self.orders
        first, last = _arrivals(units, meets, known)
        trace = np.concatenate([meets.trace[first], orders.before])
        raw = np.concatenate([meets.start_ns[first], orders.before_ns])
        other = np.concatenate([meets.trace[last], orders.after])
        then = np.concatenate([meets.end_ns[last], orders.after_ns])
        before, after = units.of_trace[trace], units.of_trace[other]
        early = Early(
            before,
            known.scale.z(before, units.since(trace, raw)),
            after,
            known.scale.z(after, units.since(other, then)),
            known.at(units, trace, raw) - known.at(units, other, then),
        )
        kept = before != after
        for jump in self.jumps:
            kept &= ~jump.loses(before, early.before_z) & ~jump.loses(after, early.after_z)
        return early.rows(np.flatnonzero(kept))


def _arrivals(units: Units, meets: Meets, known: Corrections) -> tuple[I64, I64]:
    """For each member the row of the last to arrive, and its own."""
    arrival = known.at(units, meets.trace, meets.start_ns)
    own = runs(meets.meet)
    order = np.lexsort((arrival, own.run))
    latest = order[own.first[1:] - 1]
    return latest[own.run], np.arange(len(meets))


def repaired(
    pairs: Early, known: Corrections, bar_ns: F64, drifting: F64
) -> tuple[Corrections, float]:
    """The corrections nearest to the known ones under which no order is violated, if there are.

    And what violations are left, in all; corrections that repair less than half are not made.
    """
    reach = 2 * _MOST_BARS * (bar_ns[pairs.before] + bar_ns[pairs.after])
    near = pairs.rows(np.flatnonzero(pairs.late_ns > -reach - 1))
    cuts: list[Early] = []
    move = np.zeros((2, len(bar_ns)))
    for _ in range(_ROUNDS):
        worst = _worst(near.after_moving(*move))
        if not len(worst):
            break
        cuts.append(near.rows(worst))
        found = _moved(cuts, bar_ns, drifting)
        if found is None:
            break
        move = found
    before, after = _violated(near), _violated(near.after_moving(*move))
    if after > before / 2:  # nothing is gained against contradictions
        return known, before
    return Corrections(known.scale, known.p + move[0], known.q + move[1]), after


def _violated(pairs: Early) -> float:
    return float(np.maximum(pairs.late_ns, 0.0).sum())


def _worst(pairs: Early) -> I64:
    """The most violated moment of each pair of units and stretch of time."""
    bad = np.flatnonzero(pairs.late_ns > 0.5)
    stretch = np.floor(np.clip(pairs.before_z[bad] + 0.5, 0, 1) * _STRETCHES).astype(np.int64)
    own = runs(packed(pairs.before[bad], pairs.after[bad], stretch))
    order = np.lexsort((-pairs.late_ns[bad], own.run))
    return bad[order[own.first[:-1]]]


def _moved(cuts: list[Early], bar_ns: F64, drifting: F64) -> F64 | None:
    """The smallest moves of p and q, in units of their bars, that repair all cuts."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack

    before, before_z, after, after_z, late = (
        np.concatenate([getattr(cut, name) for cut in cuts])
        for name in ("before", "before_z", "after", "after_z", "late_ns")
    )
    count, rows = len(bar_ns), len(late)
    unit = float(np.median(bar_ns[bar_ns > 0])) if (bar_ns > 0).any() else 1.0
    scale, row = bar_ns / unit, np.arange(rows)
    entries = np.concatenate([
        scale[before], scale[before] * before_z, -scale[after], -scale[after] * after_z
    ])  # fmt: skip
    columns = np.concatenate([before, count + before, after, count + after])
    moves = coo_array((entries, (np.tile(row, 4), columns)), shape=(rows, 2 * count)).tocsr()
    slack = coo_array((-np.ones(rows), (row, row)), shape=(rows, rows)).tocsr()
    most = _MOST_BARS * np.concatenate([np.ones(count), drifting])
    solution: Any = linprog(
        np.concatenate([np.ones(4 * count), np.full(rows, _FORCE)]),
        A_ub=cast("Any", hstack([moves, -moves, slack], format="csr")),
        b_ub=-(late + _MARGIN_NS) / unit,
        bounds=[(0, limit) for limit in np.tile(most, 2)] + [(0, None)] * rows,
        method="highs",
    )
    if solution.x is None:
        return None
    x: F64 = solution.x[: 2 * count] - solution.x[2 * count : 4 * count]
    return x.reshape(2, count) * bar_ns


def room_ns(count: int, pairs: Early) -> F64:
    """How far each clock can be moved against the first one's until an order is violated."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    own = runs(packed(pairs.before, pairs.after))
    if not len(pairs):
        return np.where(np.arange(count) > 0, np.inf, 0.0)
    late = np.maximum.reduceat(pairs.late_ns[own.order], own.first[:-1])
    head, shape = own.heads, (count, count)
    slack = np.maximum(-late, 1.0)
    ahead = csr_array((slack, (pairs.before[head], pairs.after[head])), shape=shape)
    earlier = np.asarray(dijkstra(ahead, indices=[0])[0])
    later = np.asarray(dijkstra(ahead.T.tocsr(), indices=[0])[0])
    return np.maximum(earlier, later)
