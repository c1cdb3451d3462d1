"""One overlay or any of them, on a tree: workers, what they take, and a bound.

Ring and forest are searched with a bound of their own. Tree, hierarchical and parameter server are
tried on the workers that the searches found; what bounds them is that every link between workers
carries the gradient once each way, whatever the overlay.
"""

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from paceline.model import I32
from paceline.plan.case import Case
from paceline.plan.overlays import LARGEST, SEARCHED, TRIED, carried, in_order
from paceline.plan.scopes import Ground, Units, ground
from paceline.plan.search import Found, Search
from paceline.plan.tree import Tree

FINE, COARSE = 1e-8, 5e-4  # gaps that the search aims at
WORTH = 0.01  # what an overlay that is only tried must save, since it has no close bound
_ROUGH = 0.005  # the gap that points of the curve aim at
SMALL = 300  # slots up to which it aims at the fine one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Workers by machine in order of rank, and what they take."""

    overlay: str
    machines: I32  # positions in the cluster, by rank
    objective_s: float
    lower_bound_s: float
    compute_s: float
    communication_s: float

    @property
    def n(self) -> int:
        """How many workers."""
        return len(self.machines)


def tolerance(case: Case) -> float:
    """The gap to aim at."""
    return FINE if int(np.minimum(case.free, case.most).sum()) <= SMALL else COARSE


def solved(
    case: Case,
    tree: Tree,
    overlay: str,
    deadline: float,
    *,
    count: int | None = None,
    within: float | None = None,
) -> Answer:
    """The best answer, or the best for that number of workers, within a gap."""
    shared = ground(case, tree)
    known = shared.units
    fewest, most = (case.fewest, case.most) if count is None else (count, count)
    aim = tolerance(case) if within is None else within
    searched = SEARCHED if overlay == "any" else (overlay,) if overlay in SEARCHED else ()
    best: Answer | None = None
    bound = math.inf
    for name in searched:
        beat = math.inf if best is None else best.objective_s
        found = Search(case, tree, name, shared).run(fewest, most, aim, deadline, beat)
        if found is None:  # nothing better: the bound of the better one stands
            continue
        bound = min(bound, found.lower_bound_s)
        if best is None or found.objective_s < best.objective_s:
            best = _answer(known, name, found)
    if best is not None and (overlay in SEARCHED or best.n > LARGEST):
        return replace(best, lower_bound_s=min(bound, best.objective_s))
    tried = _tried(case, tree, overlay, shared, best=best, deadline=deadline, bounds=(fewest, most))
    if tried is not None and (best is None or tried.objective_s < best.objective_s * (1 - WORTH)):
        return tried
    assert best is not None
    return replace(best, lower_bound_s=min(bound, best.objective_s))


def _answer(known: Units, overlay: str, found: Found) -> Answer:
    order = np.argsort(known.place[found.chosen], kind="stable")
    return Answer(
        overlay=overlay,
        machines=known.machine[found.chosen][order],
        objective_s=found.objective_s,
        lower_bound_s=found.lower_bound_s,
        compute_s=found.compute_s,
        communication_s=found.communication_s,
    )


def _tried(
    case: Case,
    tree: Tree,
    overlay: str,
    shared: Ground,
    *,
    best: Answer | None,
    deadline: float,
    bounds: tuple[int, int],
) -> Answer | None:
    """The best of the overlays that are only tried; None where none of them can win."""
    names = TRIED if overlay == "any" else (overlay,)
    search = Search(case, tree, "cut", shared)
    least = search.run(
        *bounds, tolerance(case), deadline, math.inf if best is None else best.objective_s
    )
    if least is None:
        return None
    sets = {len(least.chosen): least.chosen}
    for n in _counts(*bounds) if overlay != "any" or bounds[1] <= SMALL else []:
        if n <= LARGEST and time.monotonic() < deadline:
            for name in ("cut", "forest") if overlay != "any" else ("cut",):
                one = Search(case, tree, name, shared).run(n, n, 0.02, deadline)
                if one is not None:
                    sets[n if name == "cut" else -n] = one.chosen
    if best is not None:
        sets[-best.n] = _rows(shared.units, best)
    won: Answer | None = None
    for rows in sets.values():
        if len(rows) > LARGEST:
            continue
        for name in names:
            made = _carried(case, tree, name, search, rows)
            if won is None or made.objective_s < won.objective_s:
                won = made
    if won is None:
        raise _too_many(overlay, bounds[0])
    return replace(won, lower_bound_s=min(least.lower_bound_s, won.objective_s))


def _too_many(overlay: str, fewest: int) -> Exception:
    from paceline.model import GoalError

    return GoalError(
        f"the overlay {overlay} is planned for {LARGEST:,} workers at most,"
        f" and the goal asks for {fewest:,}.",
        cure="Choose --overlay forest or ring, or lower min_workers.",
    )


def _rows(known: Units, answer: Answer) -> I32:
    """The units that an answer takes."""
    left = np.bincount(answer.machines, minlength=int(known.machine.max()) + 1)
    rows: list[int] = []
    for row, machine in enumerate(known.machine.tolist()):
        if left[machine] > 0:
            left[machine] -= 1
            rows.append(row)
    return np.array(rows, dtype=np.int32)


def _carried(case: Case, tree: Tree, overlay: str, search: Search, rows: I32) -> Answer:
    """What an overlay that is only tried takes on these workers."""
    known = search.units
    places = in_order(overlay, known.place[rows], tree)
    taken = carried(overlay, places, tree, case.gradient_bytes)
    from_place = np.full(len(tree), -1, dtype=np.int32)
    from_place[tree.machine] = np.arange(len(tree.machine), dtype=np.int32)
    compute = search.compute_s(rows)
    communication = taken.communication_s + taken.rounds * float(search.apart_s(rows))
    return Answer(
        overlay=overlay,
        machines=from_place[places],
        objective_s=case.total_s(len(rows), compute, communication),
        lower_bound_s=0.0,
        compute_s=compute,
        communication_s=communication,
    )


def _counts(fewest: int, most: int) -> list[int]:
    """Numbers of workers to look at: all of few, else ever wider apart."""
    if most - fewest < 20:
        return list(range(fewest, most + 1))
    steps = np.geomspace(fewest, most, 16)
    return sorted({round(step) for step in steps.tolist()})


def curve(
    case: Case, tree: Tree, overlay: str, deadline: float, around: int
) -> list[tuple[int, float]]:
    """The total time over numbers of workers, the best placement of each."""
    found: list[tuple[int, float]] = []
    shared = ground(case, tree)
    for n in sorted({*_counts(case.fewest, case.most), around}):
        if time.monotonic() > deadline:
            break
        one = Search(case, tree, overlay, shared).run(n, n, _ROUGH, deadline)
        if one is not None:
            found.append((n, one.objective_s))
    return found
