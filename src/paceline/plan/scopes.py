"""The subtrees that a plan may lie in: each place where two branches with free slots meet.

Subtrees that are alike, link for link and machine for machine, are interchangeable: one stands for
all. Each scope has a bound of its own, so most are never opened.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I32, I64
from paceline.plan.case import Case
from paceline.plan.compiled import compiled
from paceline.plan.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scope:
    """A subtree, the fewest seconds of way between two of its branches, the most workers in it."""

    top: int
    last: int
    apart_s: float
    slots: int
    fastest_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """One row a worker that could be: its place and time, fastest first."""

    place: I32
    time_s: F64
    cost: F64  # what the law adds up: the time, or the speed
    row: I32
    machine: I32


def units(case: Case, tree: Tree) -> Units:
    """All free slots, fastest first, as many of a machine as could be used."""
    machine = np.repeat(np.arange(len(case.free), dtype=np.int32), np.minimum(case.free, case.most))
    place = tree.machine[machine]
    order = np.lexsort((place, case.row[machine], case.step_s[machine]))
    machine, place = machine[order], place[order]
    time = case.step_s[machine]
    return Units(
        place=place,
        time_s=time,
        cost=time if case.law == "equal" else 1 / time,
        row=case.row[machine],
        machine=machine,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """What all searches of one case share."""

    units: Units
    scopes: list[Scope]


def ground(case: Case, tree: Tree) -> Ground:
    """The workers that could be, and the subtrees they could lie in."""
    return Ground(units=units(case, tree), scopes=scopes(case, tree))


@compiled
def _summed(  # noqa: PLR0917 - compiled functions take no keywords
    parent: I32, latency: F64, slots: I64, fastest: F64, near: F64, branches: I64, apart: F64
) -> None:
    for at in range(len(parent)):
        if slots[at] > 0:
            near[at], branches[at] = 0.0, 1
    for at in range(len(parent) - 1, 0, -1):
        if slots[at] == 0:
            continue
        above, far = parent[at], near[at] + latency[at]
        slots[above] += slots[at]
        fastest[above] = min(fastest[above], fastest[at])
        branches[above] += 1
        if branches[above] > 1:
            apart[above] = min(apart[above], near[above] + far)
        near[above] = min(near[above], far)


def scopes(case: Case, tree: Tree) -> list[Scope]:
    """Every scope that differs from the others."""
    size = len(tree)
    slots, branches = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    slots[tree.machine] = np.minimum(case.free, case.most)
    own = slots.copy()
    fastest, near = np.full(size, np.inf), np.full(size, np.inf)
    apart = np.full(size, np.inf)
    used = tree.machine[case.free > 0]
    fastest[used] = case.step_s[case.free > 0]
    _summed(tree.parent, tree.latency_s, slots, fastest, near, branches, apart)
    alike = _alike(case, tree, own, slots)
    _, first = np.unique(alike, return_index=True)
    chosen = np.zeros(size, dtype=np.bool_)
    chosen[first] = True
    chosen &= (slots >= case.fewest) & ((branches > 1) | (own > 0))
    chosen &= ~_slower_alone(tree, own, fastest)
    return [
        Scope(
            top=at,
            last=int(tree.end[at]),
            apart_s=float(apart[at]) if np.isfinite(apart[at]) else 0.0,
            slots=int(slots[at]),
            fastest_s=float(fastest[at]),
        )
        for at in np.flatnonzero(chosen).tolist()
    ]


def _slower_alone(tree: Tree, own: I64, fastest: F64) -> npt.NDArray[np.bool_]:
    """True for single machines that are slower than another with as many slots."""
    alone = np.flatnonzero((tree.end == np.arange(len(tree)) + 1) & (own > 0))
    order = alone[np.lexsort((fastest[alone], -own[alone]))]
    found = np.zeros(len(tree), dtype=np.bool_)
    found[order] = True
    first = np.concatenate([[True], np.diff(own[order]) != 0])[: len(order)]
    found[order[first]] = False
    return found


def _alike(case: Case, tree: Tree, own: I64, slots: I64) -> I32:
    """A number by place, the same for places whose subtrees are alike."""
    size = len(tree)
    facts = np.zeros((size, 3))
    facts[tree.machine] = np.column_stack([own[tree.machine], case.step_s, case.row])
    facts = np.nan_to_num(facts)
    _, kind = np.unique(facts, axis=0, return_inverse=True)
    ways = np.column_stack([tree.slow_s, tree.latency_s])
    _, way = np.unique(ways, axis=0, return_inverse=True)
    kinds, links = kind.ravel().tolist(), way.ravel().tolist()
    parent: list[int] = tree.parent.tolist()
    empty: list[bool] = (slots == 0).tolist()
    numbers: dict[object, int] = {}
    alike = [0] * size
    below: list[list[int] | None] = [None] * size
    for at in range(size - 1, -1, -1):
        inside = below[at]
        key = (kinds[at], tuple(sorted(inside)) if inside else None)
        alike[at] = numbers.setdefault(key, len(numbers))
        if at and not empty[at]:
            spot = numbers.setdefault((links[at], alike[at], "by a link"), len(numbers))
            spots = below[parent[at]] or []
            spots.append(spot)
            below[parent[at]] = spots
        below[at] = None
    return np.array(alike, dtype=np.int32)
