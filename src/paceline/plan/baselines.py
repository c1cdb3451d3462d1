"""What simple rules reach on the same data, each tuned as well as its idea allows.

Each rule lists workers for a number n; the overlay is the better of ring and forest (or the one
asked for), n the best of all numbers, or of a dense grid on large clusters. The one to beat: stay
inside the fastest class of machines, pack it into as small a part of the network as holds it.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I32, Baseline
from paceline.plan.case import Case
from paceline.plan.overlays import SEARCHED
from paceline.plan.scopes import Ground, Scope, ground
from paceline.plan.search import Search
from paceline.plan.tree import Tree

_DRAWS = 10
_GRID = 64  # numbers of workers tried on a large cluster
_SCOPES = 96  # ways to pack tried for each number

EXPERT = "pack in the fastest class"
Rule = Callable[[int], list[I32]]


def baselines(
    case: Case, tree: Tree, overlay: str, n_planned: int, seed: int = 0
) -> tuple[Baseline, ...]:
    """Every rule with its best number of workers and its total time."""
    shared = ground(case, tree)
    known = shared.units
    names = (overlay,) if overlay in SEARCHED else SEARCHED
    searches = [Search(case, tree, name, shared) for name in names]
    draw = np.random.default_rng(seed)
    rows = np.arange(len(known.place), dtype=np.int32)

    def taken(chosen: I32) -> float:
        return min(search.offer(chosen).objective_s for search in searches)

    drawn = [draw.choice(rows, n_planned, replace=False) for _ in range(_DRAWS)]
    mean = float(np.mean([taken(np.sort(one)) for one in drawn]))
    found = [Baseline(name="random", n=n_planned, total_time_s=mean)]
    every = rows[: case.most]
    found.append(Baseline(name="all machines", n=len(every), total_time_s=taken(every)))
    packing = _Packing(tree, shared)
    fastest = np.flatnonzero(fastest_kind(case)[known.machine]).astype(np.int32)
    rules: dict[str, tuple[Rule, int]] = {
        "fastest n": (lambda n: [rows[:n]], len(rows)),
        "pack by topology": (lambda n: packing.packed(n, rows), len(rows)),
        EXPERT: (lambda n: packing.packed(n, fastest), len(fastest)),
    }
    for name, (rule, most) in rules.items():
        tuned = _tuned(case, rule, min(case.most, most), taken)
        if tuned is not None:
            found.append(Baseline(name=name, n=tuned[0], total_time_s=tuned[1]))
    return tuple(found)


def _tuned(
    case: Case, rule: Rule, most: int, taken: Callable[[I32], float]
) -> tuple[int, float] | None:
    best: tuple[int, float] | None = None
    for n in numbers(case.fewest, most):
        for chosen in rule(n):
            total = taken(chosen)
            if best is None or total < best[1]:
                best = (n, total)
    return best


def numbers(fewest: int, most: int) -> list[int]:
    """All numbers of workers, or a dense grid where there are many."""
    if most - fewest < 4 * _GRID:
        return list(range(fewest, most + 1))
    return sorted({round(n) for n in np.geomspace(fewest, most, _GRID).tolist()})


def fastest_kind(case: Case) -> npt.NDArray[np.bool_]:
    """Which machines are of the fastest kind that has free slots."""
    kinds = [machine.kind for machine in case.cluster.machines]
    means: dict[str | None, list[float]] = {}
    for at, kind in enumerate(kinds):
        if case.free[at] > 0:
            means.setdefault(kind, []).append(float(case.step_s[at]))
    fastest = min(means, key=lambda kind: float(np.mean(means[kind])))
    return np.array([kind == fastest for kind in kinds], dtype=np.bool_)


class _Packing:
    """Workers packed into subtrees: those with most of them first, branch after branch."""

    def __init__(self, tree: Tree, shared: Ground) -> None:
        self.tree, self.known = tree, shared.units
        self.scopes: list[Scope] = sorted(shared.scopes, key=lambda one: one.slots)

    def packed(self, n: int, allowed: I32) -> list[I32]:
        """The ways to pack n of the allowed workers into the smallest subtrees that hold them."""
        made: list[I32] = []
        place = self.known.place[allowed]
        for scope in self.scopes:
            if scope.slots < n:
                continue
            inside = allowed[(place >= scope.top) & (place < scope.last)]
            if len(inside) >= n:
                made += self._filled(inside, n)
                if len(made) >= _SCOPES:
                    break
        return made

    def _filled(self, inside: I32, n: int) -> list[I32]:
        """The first n switch by switch: the fullest first, or the one with the fastest links."""
        place = self.known.place[inside]
        above, time = self.tree.parent[place], self.known.time_s[inside]
        held: F64 = np.bincount(above)[above].astype(np.float64)
        link = np.maximum(self.tree.slow_s[place], self.tree.slow_s[above])
        full = np.lexsort((time, above, -held))
        fast = np.lexsort((time, above, -held, link))
        return [np.sort(inside[order[:n]]) for order in (full, fast)]
