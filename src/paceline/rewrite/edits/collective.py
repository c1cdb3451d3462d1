"""Lets all-reduces run by another algorithm: ring, tree, hierarchical, parameter server, forest.

On a cluster their times are left to the simulation, which plays the algorithm over the links.
Without one the times at hand are scaled by the ratio of the closed forms at equal links. An
all-reduce of unknown algorithm counts as a ring; one that runs this algorithm already stays.
"""

import dataclasses

import numpy as np
from msgspec.structs import replace

from paceline.model import Edit, InputError
from paceline.rewrite.closed_form import ALGORITHMS
from paceline.rewrite.key import Key, Takes, word
from paceline.rewrite.operation import all_reduces
from paceline.rewrite.reshape import Shape, reshaped, shapes
from paceline.rewrite.state import State
from paceline.rewrite.transfers import transfers
from paceline.rewrite.works import NewWorks

NAME: str = "collective"
KEYS: tuple[Key, ...] = (
    Key(
        name="algorithm",
        takes=Takes.WORD,
        says="how all-reduces run",
        required=True,
        one_of=ALGORITHMS,
    ),
)
SAYS: str = "Lets all-reduces run by another algorithm."


def apply(state: State, edit: Edit) -> State:
    """The state whose all-reduces run by the algorithm."""
    algorithm = word(edit, "algorithm") or ""
    mask = all_reduces(state.graph)
    if not mask.any():
        raise InputError(
            "there is no all-reduce in this job.",
            where=edit,
            expected="It changes how all-reduces run.",
            cure="Leave this edit out.",
        )
    works = NewWorks(state.graph)
    becomes = np.arange(len(state.graph.works), dtype=np.int32)
    for at in np.unique(state.graph.work[mask]):
        work = state.graph.works[int(at)]
        if work.algorithm != algorithm:
            becomes[at] = works.add(-1, replace(work, algorithm=algorithm))
    mask &= becomes[state.graph.work] != state.graph.work
    graph = dataclasses.replace(
        state.graph,
        work=np.where(mask, becomes[state.graph.work], state.graph.work),
        works=works.table,
    )
    if state.cluster is not None:
        duration = np.where(mask, -1, state.times.duration_ns)
        return dataclasses.replace(state, graph=graph).timed(duration_ns=duration)
    found = transfers(state)
    was = shapes(state, found)
    now = [
        Shape(
            shape.operation,
            algorithm if changes else shape.algorithm,
            shape.members,
            shape.machines,
        )
        for shape, changes in zip(was, mask[found.op].tolist(), strict=True)
    ]
    return dataclasses.replace(reshaped(state, edit, found, was, now), graph=graph)
