"""What a plan hangs on: the links that take longest, or the machines that compute longest.

Each is relaxed in turn and the question solved again: the links at twice the rate, the machines as
fast as the next faster ones, or twice as fast where there are none. What helps most is binding.
Links that are equally loaded are relaxed together, since one of them alone would change nothing.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from paceline.model import I32
from paceline.plan.case import Case
from paceline.plan.counts import measured
from paceline.plan.overlays import SEARCHED
from paceline.plan.search import SHAPES
from paceline.plan.solve import Answer, solved
from paceline.plan.tails import Tails
from paceline.plan.tree import Tree

_EQUAL = 1 - 1e-6  # of the longest time: links as loaded as that bind together


class Binding(NamedTuple):
    """What binds, in words, and the share of the total time that relaxing it saves."""

    what: str
    relaxed: str
    gain: float


def binding(case: Case, tree: Tree, answer: Answer, deadline: float) -> Binding:
    """What binds the answer: links or machines, whichever saves more when relaxed."""
    links = _links(case, tree, answer, deadline)
    machines = _machines(case, tree, answer, deadline)
    return machines if links is None or machines.gain > links.gain else links


def _links(case: Case, tree: Tree, answer: Answer, deadline: float) -> Binding | None:
    tight = tight_places(tree, answer)
    if not len(tight):
        return None
    slow = tree.slow_s.copy()
    slow[tight] /= 2
    relaxed = dataclasses.replace(tree, slow_s=slow)
    gain = _gain(dataclasses.replace(case, tree=relaxed), relaxed, answer, deadline)
    first = int(tight[0])
    name = f"link {tree.names[first]} - {tree.names[int(tree.parent[first])]}"
    return Binding(_and_others(name, len(tight)), "at twice the rate", gain)


def tight_places(tree: Tree, answer: Answer) -> I32:
    """The places below the links that take longest, none for overlays without a closed form."""
    n = answer.n
    if answer.overlay not in SHAPES or n == 1:
        return np.empty(0, dtype=np.int32)
    below = np.zeros(len(tree), dtype=np.int64)
    measured(
        0, len(tree), SHAPES[answer.overlay], 1.0, tree.machine[answer.machines], tree.slow_s,
        tree.latency_s, tree.parent, below, np.zeros(len(tree)),
    )  # fmt: skip
    part = np.maximum(below, n - below) if answer.overlay == "forest" else n - 1
    load = np.where((below > 0) & (below < n), part * tree.slow_s, 0.0)
    if load.max() <= 0:
        return np.empty(0, dtype=np.int32)
    return np.flatnonzero(load >= load.max() * _EQUAL).astype(np.int32)


def _machines(case: Case, tree: Tree, answer: Answer, deadline: float) -> Binding:
    used = np.unique(answer.machines)
    slowest = float(case.step_s[used].max())
    same = used[case.step_s[used] >= slowest * _EQUAL]
    name = _and_others(f"machine {case.cluster.machines[int(same[0])].name}", len(same))
    step, row = case.step_s.copy(), case.row.copy()
    faster = np.flatnonzero((case.free > 0) & (case.step_s < slowest * _EQUAL))
    if len(faster):
        next_one = int(faster[np.argmax(case.step_s[faster])])
        step[same], row[same] = case.step_s[next_one], case.row[next_one]
        gain = _gain(dataclasses.replace(case, step_s=step, row=row), tree, answer, deadline)
        return Binding(name, "as fast as the next faster ones", gain)
    step[same] /= 2
    tails = case.tails
    if tails is not None:  # rows of halved times behind all others
        half = Tails(quantiles_s=np.concatenate([tails.quantiles_s / 2, tails.quantiles_s]))
        row += len(tails.quantiles_s)
        row[same] -= len(tails.quantiles_s)
        case = dataclasses.replace(case, tails=half)
    gain = _gain(dataclasses.replace(case, step_s=step, row=row), tree, answer, deadline)
    return Binding(name, "at twice the speed", gain)


def _and_others(name: str, count: int) -> str:
    return name if count == 1 else f"{name} and {count - 1:,} like it"


def _gain(case: Case, tree: Tree, answer: Answer, deadline: float) -> float:
    overlay = answer.overlay if answer.overlay in SEARCHED else "any"
    better = solved(case, tree, overlay, deadline)
    return max(0.0, 1 - better.objective_s / answer.objective_s)
