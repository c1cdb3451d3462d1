"""The best workers on a tree for one overlay: branch and bound over scope, number and time.

A box is a scope, a range of numbers of workers and a range of communication times. The programs of
`counts` give, for the upper end of its times, the least compute time of every number in it: with
the lower end of its times that is a bound, and the workers behind it are a plan. Boxes are split,
the lowest bound first, until the lowest bound is within `tolerance` of the best plan. With one
number of workers the programs are exact, so the bound closes: what ends early says its true gap.
"""

import heapq
import time
from dataclasses import dataclass, field

import numpy as np

from paceline.model import F64, I32
from paceline.plan.case import Case
from paceline.plan.counts import (
    CUT,
    EQUAL,
    FOREST,
    RING,
    SPEED,
    anchored,
    bounded,
    capped,
    measured,
    picked,
    tabled,
)
from paceline.plan.scopes import Ground, Scope, ground
from paceline.plan.tails import expected_max
from paceline.plan.tree import Tree

SHAPES = {"forest": FOREST, "ring": RING, "cut": CUT}
EASY = 200_000.0  # additions that a program may take for a range of numbers of workers
MOST_WORK = 4e8  # and for one number: beyond it, upper bounds alone count, and the gap is true


def rounds(overlay: str, n: F64 | int) -> F64:
    """Messages one after another, as the tables of `reduce` send them."""
    count = np.asarray(n, dtype=np.float64)
    alone = count <= 1
    if overlay == "ring":
        found = 2 * (count - 1)
    elif overlay == "tree":
        found = 2 * np.ceil(np.log2(np.maximum(count, 2)))
    else:
        found = np.full_like(count, 4.0 if overlay in {"forest", "hierarchical"} else 2.0)
    return np.where(alone, 0.0, found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """Workers (rows of units) with what they take, and what nothing can beat."""

    chosen: I32
    objective_s: float
    lower_bound_s: float
    compute_s: float
    communication_s: float
    busiest: int  # place below the link that takes longest, -1 without one


@dataclass(order=True, slots=True)
class _Box:
    bound: float
    number: int
    scope: Scope = field(compare=False)
    fewest: int = field(compare=False)
    most: int = field(compare=False)
    least_s: float = field(compare=False)
    most_s: float = field(compare=False)
    spare_s: float = field(default=0.0, compare=False)  # latency that the bound leaves out


def _over_speed(n: F64, values: F64) -> F64:
    """Time from n over the sum of speeds; infinite where n workers do not fit."""
    return np.where(np.isinf(values), values, n / -values)


class Search:
    """One search; `best` is the best plan so far."""

    def __init__(self, case: Case, tree: Tree, overlay: str, shared: Ground | None = None) -> None:
        self.case, self.tree, self.overlay = case, tree, overlay
        self.shape = SHAPES[overlay]
        self.law = EQUAL if case.law == "equal" else SPEED
        self.weight = case.gradient_bytes * (1.0 if self.shape == CUT else 2.0)
        shared = ground(case, tree) if shared is None else shared
        self.units, self.scopes = shared.units, shared.scopes
        size = len(tree)
        self.own = np.zeros(size, dtype=np.int32)
        self.own[tree.machine] = np.minimum(case.free, case.most)
        self.low, self.high, self.state, self.anchor = np.zeros((4, size), dtype=np.int32)
        self.reach, self.room, self.pick_from, self.need = np.zeros((4, size), dtype=np.int64)
        self.deep = np.zeros(size)
        self.best: Found | None = None
        self.by_count: dict[int, float] = {}
        self._inside: tuple[int, I32] | None = None
        self._boxes = 0
        self._settled = np.inf  # the least bound of boxes that splitting does not raise
        self._spare_s = 0.0

    def run(
        self, fewest: int, most: int, tolerance: float, deadline: float, beat: float = np.inf
    ) -> Found | None:
        """The best plan with its bound; None if nothing is better than `beat`."""
        heap = [
            _Box(self._outlook(scope, fewest, most), -at, scope, fewest, most, 0.0, np.inf)
            for at, scope in enumerate(self.scopes)
            if scope.slots >= fewest
        ]
        heapq.heapify(heap)
        limit = beat
        while heap:
            if self.best is not None:
                limit = min(beat, self.best.objective_s)
            if heap[0].bound >= limit * (1 - tolerance):
                break
            if time.monotonic() > deadline and self.best is not None:
                break
            for box in self._split(heapq.heappop(heap)):
                heapq.heappush(heap, box)
        if self.best is None:
            return None
        bound = min([self.best.objective_s, self._settled] + [box.bound for box in heap[:1]])
        done = self.best
        return Found(
            chosen=done.chosen, objective_s=done.objective_s, lower_bound_s=bound,
            compute_s=done.compute_s, communication_s=done.communication_s, busiest=done.busiest,
        )  # fmt: skip

    def _outlook(self, scope: Scope, fewest: int, most: int) -> float:
        return self.case.steps.at(max(fewest, min(most, scope.slots))) * scope.fastest_s

    def _split(self, box: _Box) -> list[_Box]:
        """The halves of a box whose bounds do not rule them out."""
        scope, fewest, most, low, high = box.scope, box.fewest, box.most, box.least_s, box.most_s
        if np.isinf(high):  # a scope that is opened now
            most = min(most, scope.slots)
            inside = self.tree.slow_s[scope.top + 1 : scope.last]
            high = self.weight * float(inside.max(initial=0.0))
            return self._looked(box, [(fewest, most, 0.0, high)])
        if most > fewest and (most - fewest) / most >= (high - low) / (high + scope.fastest_s):
            middle = min(most - 1, max(fewest, int((fewest * most) ** 0.5)))
            return self._looked(box, [(fewest, middle, low, high), (middle + 1, most, low, high)])
        if high - low <= max(1e-13 * high, box.spare_s / 2 if most == fewest else 0.0):
            self._settled = min(self._settled, box.bound)
            return []
        middle = (low + high) / 2
        return self._looked(box, [(fewest, most, low, middle), (fewest, most, middle, high)])

    def _looked(self, box: _Box, parts: list[tuple[int, int, float, float]]) -> list[_Box]:
        made: list[_Box] = []
        for fewest, most, low, high in parts:
            found = self._look(box.scope, fewest, most, low, high)
            if found is None:
                continue
            bound, fits = max(found[0], box.bound), found[1]
            self._boxes += 1
            own = (box.scope, fewest, fits, low, high, self._spare_s)
            made.append(_Box(bound, self._boxes, *own))
        return made

    def _look(
        self, scope: Scope, fewest: int, most: int, low_s: float, high_s: float
    ) -> tuple[float, int] | None:
        """The bound of a box and the most workers that fit; None where it is empty."""
        top, last, tree = scope.top, scope.last, self.tree
        fits = bounded(
            top, last, self.shape, fewest, most, high_s, self.weight, tree.slow_s, self.own,
            tree.parent, self.low, self.high, self.reach, self.state,
        )  # fmt: skip
        most = min(most, int(fits))
        if most < fewest:
            return None
        rows = self._rows(scope)
        out = np.empty(len(rows), dtype=np.int32)
        values, pick = self._values(scope, fewest, most, rows, out)
        if len(values) <= fewest or np.isinf(values[fewest:]).all():
            return None
        values = values[fewest : most + 1]
        n = np.arange(fewest, fewest + len(values), dtype=np.float64)
        compute = values if self.law == EQUAL else _over_speed(n, values)
        if self.case.tails is not None and self.law == EQUAL:
            self._cap(scope, most, rows, out)
            compute = np.maximum(compute, self._least_tail(rows[out[:fewest]]))
        bounds = self._total(n, compute, low_s, scope.apart_s)
        at = int(np.argmin(bounds))
        self._spare_s = 0.0
        if bounds[at] < self._limit():
            if pick is not None:
                picked(
                    top, last, fewest + at, self.units.place[rows], tree.parent, self.anchor,
                    self.pick_from, pick, self.need, out,
                )  # fmt: skip
            self.offer(rows[out[: fewest + at]], scope)
        return float(bounds[at]), fewest + len(values) - 1

    def _values(
        self, scope: Scope, fewest: int, most: int, rows: I32, out: I32
    ) -> tuple[F64, I32 | None]:
        """The best value of each number of workers; the picks, or the workers in `out`."""
        top, last, parent = scope.top, scope.last, self.tree.parent
        place, cost = self.units.place[rows], self.units.cost[rows]
        work = anchored(
            top, last, most, place, self.high, self.state, parent, self.anchor, self.room
        )
        if work <= (MOST_WORK if most == fewest else max(EASY, 20.0 * len(rows))):
            return tabled(
                top, last, most, self.law, place, cost, self.low, self.high, parent, self.anchor,
                self.room, self.pick_from,
            )  # fmt: skip
        count = self._cap(scope, most, rows, out)
        own = cost[out[:count]]
        values = np.zeros(count + 1)
        values[1:] = own if self.law == EQUAL else -np.cumsum(own)
        return values, None

    def _cap(self, scope: Scope, most: int, rows: I32, out: I32) -> int:
        """The best workers if links had upper bounds only, in `out`; returns how many fit."""
        return capped(
            scope.top, scope.last, most, self.units.place[rows], self.high, self.state,
            self.tree.parent, self.need, out,
        )  # fmt: skip

    def _limit(self) -> float:
        return np.inf if self.best is None else self.best.objective_s

    def _total(self, n: F64, compute: F64, communication: float, apart_s: float) -> F64:
        waits = np.where(n > 1, communication, 0.0) + rounds(self.overlay, n) * apart_s
        return self.case.steps.of(n) * self.case.step_time_s(compute, waits)

    def _rows(self, scope: Scope) -> I32:
        """The units of a scope, fastest first."""
        if self._inside is None or self._inside[0] != scope.top:
            place = self.units.place
            inside = (place >= scope.top) & (place < scope.last)
            self._inside = (scope.top, np.flatnonzero(inside).astype(np.int32))
        return self._inside[1]

    def _least_tail(self, rows: I32) -> float:
        tails = self.case.tails
        assert tails is not None
        counts = np.bincount(self.units.row[rows], minlength=len(tails.quantiles_s))
        return expected_max(tails.lower, counts)

    def compute_s(self, rows: I32) -> float:
        """What these workers compute in a step, by the law."""
        if self.law == SPEED:
            return len(rows) / float((1 / self.units.time_s[rows]).sum())
        tails = self.case.tails
        if tails is None:
            return float(self.units.time_s[rows].max())
        counts = np.bincount(self.units.row[rows], minlength=len(tails.quantiles_s))
        return expected_max(tails.quantiles_s, counts)

    def apart_s(self, rows: I32) -> float:
        """The longest way between two of these workers, one way."""
        tree = self.tree
        return measured(
            0, len(tree), self.shape, self.weight, self.units.place[rows], tree.slow_s,
            tree.latency_s, tree.parent, self.need, self.deep,
        )[1]  # fmt: skip

    def offer(self, rows: I32, scope: Scope | None = None) -> Found:
        """What these workers take; kept if it is the best so far."""
        top, last = (0, len(self.tree)) if scope is None else (scope.top, scope.last)
        tree, n = self.tree, len(rows)
        longest, apart, busiest = measured(
            top, last, self.shape, self.weight, self.units.place[rows], tree.slow_s,
            tree.latency_s, tree.parent, self.need, self.deep,
        )  # fmt: skip
        compute = self.compute_s(rows)
        communication = float(longest) + float(rounds(self.overlay, n)) * float(apart)
        total = self.case.total_s(n, compute, communication)
        if scope is not None:
            self._spare_s = float(rounds(self.overlay, n)) * max(0.0, apart - scope.apart_s)
        self.by_count[n] = min(total, self.by_count.get(n, np.inf))
        found = Found(
            chosen=rows, objective_s=total, lower_bound_s=0.0, compute_s=compute,
            communication_s=communication, busiest=int(busiest),
        )  # fmt: skip
        if total < self._limit():
            self.best = found
        return found
