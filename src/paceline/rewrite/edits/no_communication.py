"""The bound without communication: sends, receives and collectives take no time.

Nobody waits for them or in them. What waited for communication waits for what that waited for on
the same worker, so the order of the worker's own work stays.
"""

import dataclasses

import numpy as np

from paceline.model import Edit
from paceline.rewrite.bridge import free_of_talk, leads_once_free
from paceline.rewrite.key import Key
from paceline.rewrite.state import State, talks

NAME: str = "no-communication"
KEYS: tuple[Key, ...] = ()
SAYS: str = "A bound: communication takes no time and nobody waits in it."


def apply(state: State, _edit: Edit) -> State:
    """The state whose communication is free."""
    graph, talk = state.graph, talks(state.graph)
    after_from, after_op = free_of_talk(graph)
    free = dataclasses.replace(
        graph,
        after_from=after_from,
        after_op=after_op,
        match=np.full(len(graph), -1, dtype=np.int32),
        match_group=np.empty(0, dtype=np.int32),
    )
    return dataclasses.replace(state, graph=free).timed(
        duration_ns=np.where(talk, 0, state.times.duration_ns),
        lead_ns=leads_once_free(graph, free, state.times.lead_ns),
    )
