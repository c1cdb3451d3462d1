"""Plays a step over several micro-batches whose gradients are exchanged once, in the last.

Loading, forward and backward run so many times one after the other, the exchange and what follows
it once, as with gradient accumulation. A micro-batch begins on a worker when the one before has
ended on the lanes of its host; a device runs in the order of its lanes anyway.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, Edit, Graph, InputError, Kind, Phase
from paceline.rewrite.key import Key, Takes, whole
from paceline.rewrite.ragged import ragged, rows_of
from paceline.rewrite.renumber import taken
from paceline.rewrite.state import State, awaits_nothing, talks

NAME: str = "accumulate"
KEYS: tuple[Key, ...] = (
    Key(name="steps", takes=Takes.COUNT, says="micro-batches a step", required=True),
)
SAYS: str = "Exchanges gradients once for several micro-batches."

_MOST_OPS = 2**26

Mask = npt.NDArray[np.bool_]


def apply(state: State, edit: Edit) -> State:
    """The state whose step holds so many micro-batches."""
    count, graph = whole(edit, "steps") or 1, state.graph
    if count == 1:
        return state
    again = np.flatnonzero(_micro(graph))
    if not len(again):
        raise InputError(
            "no op of this job is known to belong to forward or backward.",
            where=edit,
            expected="It repeats forward and backward.",
            cure="Record with phases, as the profilers of frameworks do.",
        )
    if len(graph) + (count - 1) * len(again) > _MOST_OPS:
        raise InputError(
            "makes too many ops.",
            where=edit,
            expected=f"A graph holds {_MOST_OPS} at most here.",
            cure="Ask for fewer micro-batches.",
        )
    rows = np.concatenate([np.tile(again, count - 1), np.arange(len(graph))])
    early = (count - 1) * len(again)  # ops of all micro-batches but the last
    state = state.noting("more-samples", f"a step handles {count} times the samples")
    out = taken(state, rows, _after(graph, again, count - 1))
    lead = out.times.lead_ns.copy()
    first = awaits_nothing(graph)[rows]
    first[: len(again)] = False
    lead[first & np.isin(rows, again)] = 0  # where its worker stood counts once
    match = out.graph.match.copy()
    match[:early] = -1
    return dataclasses.replace(out, graph=dataclasses.replace(out.graph, match=match)).timed(
        lead_ns=lead
    )


def _micro(graph: Graph) -> Mask:
    """Loading, forward and backward, but not what uses what was communicated."""
    talk = talks(graph)
    users = np.zeros(len(graph), dtype=np.bool_)
    users[rows_of(graph.after_from)[talk[graph.after_op]]] = True
    part = np.isin(graph.phase, (Phase.FORWARD, Phase.BACKWARD)) | (graph.kind == Kind.LOAD)
    return part & ~talk & ~users


def _after(graph: Graph, again: I64, rounds: int) -> tuple[I64, I32]:
    """What each op waits for: within its micro-batch, and the first ones for the one before."""
    count = len(again)
    place = np.full(len(graph), -1, dtype=np.int64)
    place[again] = np.arange(count)
    rows, targets = rows_of(graph.after_from), graph.after_op.astype(np.int64)
    inside = (place[rows] >= 0) & (place[targets] >= 0)
    shift = np.arange(rounds, dtype=np.int64)[:, None] * count
    early = place[rows[inside]] + shift, place[targets[inside]] + shift
    begins, ends = _ends(graph, again)
    later = np.arange(1, rounds + 1, dtype=np.int64)[:, None] * count
    base = rounds * count
    opens = np.where(later < base, place[begins] + later, base + begins)
    return ragged(
        np.concatenate([early[0].ravel(), rows + base, opens.ravel()]),
        np.concatenate([early[1].ravel(), targets + base, (place[ends] + later - count).ravel()]),
        base + len(graph),
    )


def _ends(graph: Graph, again: I64) -> tuple[I64, I64]:
    """Pairs of one worker: the first repeated op of a host lane, the last of another one."""
    host = np.isin(graph.worker, graph.worker[graph.kind == Kind.HOST])
    own = again[(graph.kind[again] == Kind.HOST) | ~host[again]]
    device = graph.worker[own].astype(np.int64) * len(graph.lanes) + graph.lane[own]
    order = np.argsort(device, kind="stable")
    new = np.flatnonzero(np.diff(device[order], prepend=-1) != 0)
    begins = own[order][new]
    ends = own[order][np.append(new[1:], len(order))[: len(new)] - 1]
    pairs = [
        (first, last)
        for first, worker in zip(begins.tolist(), graph.worker[begins].tolist(), strict=True)
        for last in ends[graph.worker[ends] == worker].tolist()
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
