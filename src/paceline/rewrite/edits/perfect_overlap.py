"""The bound with perfect overlap: the shorter of communication and the rest hides behind the other.

Each communication lane runs through its own work without waiting for anything; the rest runs as in
`no-communication`. So the step is the longer of the two. Communication on a lane of other work
(a blocking send on the main lane) moves to a lane of its own.
"""

import dataclasses

import numpy as np

from paceline.model import I64, Edit, Graph, InputError
from paceline.rewrite.bridge import Pairs, free_of_talk, leads_once_free
from paceline.rewrite.key import Key
from paceline.rewrite.ragged import ragged, rows_of
from paceline.rewrite.select import Mask
from paceline.rewrite.state import State, devices, talks
from paceline.rewrite.transfers import transfers

NAME: str = "perfect-overlap"
KEYS: tuple[Key, ...] = ()
SAYS: str = "A bound: communication costs nothing unless it is longer than the rest."


def apply(state: State, edit: Edit) -> State:
    """The state whose step is the longer of its communication and the rest."""
    graph, talk = state.graph, talks(state.graph)
    if (state.times.duration_ns[talk] < 0).any():
        raise InputError(
            "some communication takes a time that follows from links only.",
            where=edit,
            expected="Overlap needs the time of every transfer.",
            cure="Put this edit before those that leave times to the cluster.",
        )
    mixed = _mixed(graph, talk)
    after_from, after_op = free_of_talk(graph, _next_on_lane(graph, talk, mixed))
    rows = rows_of(after_from)
    waits = ~talk[rows]
    after_from, after_op = ragged(rows[waits], after_op[waits], len(graph))
    lanes = tuple(f"{lane} communication" for lane in graph.lanes)
    apart = dataclasses.replace(
        graph,
        after_from=after_from,
        after_op=after_op,
        match=np.full(len(graph), -1, dtype=np.int32),
        match_group=np.empty(0, dtype=np.int32),
        lane=graph.lane + np.where(talk & mixed, np.int32(len(lanes)), np.int32(0)),
        lanes=graph.lanes + lanes if (talk & mixed).any() else graph.lanes,
    )
    return dataclasses.replace(state, graph=apart).timed(
        duration_ns=_of_slowest_member(state),
        lead_ns=leads_once_free(graph, apart, state.times.lead_ns),
    )


def _mixed(graph: Graph, talk: Mask) -> Mask:
    """Which ops run on lanes that have both communication and other work."""
    device = devices(graph)
    count = len(graph.workers) * len(graph.lanes)
    talking, other = (np.bincount(device[some], minlength=count) > 0 for some in (talk, ~talk))
    return (talking & other)[device]


def _next_on_lane(graph: Graph, talk: Mask, mixed: Mask) -> Pairs:
    """Pairs (op, communication that its lane ran between the op before and this one)."""
    ops = np.flatnonzero(mixed)
    ops = ops[np.argsort(devices(graph)[ops], kind="stable")]
    device, talking = devices(graph)[ops], talk[ops]
    # backwards: the place of the nearest other op from here on
    place = np.where(talking, len(ops), np.arange(len(ops)))
    ahead = np.minimum.accumulate(place[::-1])[::-1]
    some = np.flatnonzero(talking & (ahead < len(ops)))
    some = some[device[ahead[some]] == device[some]]
    return ops[ahead[some]], ops[some]


def _of_slowest_member(state: State) -> I64:
    found = transfers(state)
    duration = state.times.duration_ns.copy()
    duration[found.members] = found.spread(found.duration_ns)
    return duration
