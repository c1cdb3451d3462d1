"""What each op took in one recorded step, without waiting: its own work, and its lead.

An op's own work begins when it has started, its predecessor on the lane has ended and so has all
that it waits for. Of a collective the transfer is what lies between its last arrival and its first
end; what a member leaves later than the first is lead of what follows there. A message is under way
when both its sides are there, except for a send that was over before its receiver came, or whose
receiver was reading the chunk before. Playing
what comes out gives the recorded step again, as far as the record obeys the graph and nothing hung
on a send that waited.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.model import (
    F64,
    I32,
    I64,
    UNKNOWN,
    Graph,
    Kind,
    ModelError,
    Timeline,
    Times,
    reading_on,
)
from paceline.simulate.lanes import lanes, nobody


class Structure(NamedTuple):
    """What reading a step needs to know of the graph, once for all steps."""

    graph: Graph
    before: I32  # lane predecessor of each op
    send: I32  # of each receive, -1 for all else
    meets: I64  # members of collectives
    reads_on: npt.NDArray[np.bool_]  # receives for which their sender does not wait


class Observed(NamedTuple):
    """Own work and lead by op, in ns; NaN where the step does not tell."""

    duration_ns: F64
    lead_ns: F64


def structure(graph: Graph) -> Structure:
    """The structure of a graph."""
    zeros = np.zeros(len(graph), dtype=np.int64)
    own = lanes(graph, Times(duration_ns=zeros, lead_ns=zeros))
    before, send = nobody(len(graph)), nobody(len(graph))
    ahead = np.flatnonzero(own.following >= 0)
    before[own.following[ahead]] = ahead
    receives = np.flatnonzero((graph.kind == Kind.RECV) & (graph.match >= 0))
    send[receives] = own.sender[graph.match[receives]]
    meets = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    return Structure(graph, before, send, meets, reading_on(graph))


def observed(known: Structure, line: Timeline) -> Observed:
    """What the ops of a recorded step took."""
    graph, start, end = known.graph, line.start_ns, line.end_ns
    if len(start) != len(graph):
        raise ModelError(
            f"A measured step has {len(start)} ops, the graph {len(graph)}.",
            expected="Measured steps belong to one graph, op by op.",
        )
    if not len(graph) or (start == UNKNOWN).all():
        return Observed(np.full(len(graph), np.nan), np.full(len(graph), np.nan))
    there = start != UNKNOWN
    over = _first_ends(known, there, end)
    awaited, sure = ready(known, start, over)
    begun = np.maximum(start, awaited)
    own_begin, own_end = _met(known, there, begun, over), over
    duration = np.maximum(own_end - own_begin, 0).astype(np.float64)
    lead = np.maximum(start - awaited, 0).astype(np.float64)
    return Observed(np.where(there, duration, np.nan), np.where(there & sure, lead, np.nan))


def ready(known: Structure, start: I64, end: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """When each op was ready, and whether all that it waited for is on record."""
    graph = known.graph
    out = np.full(len(graph), start[start != UNKNOWN].min())
    sure = np.ones(len(graph), dtype=bool)
    waits = np.flatnonzero(np.diff(graph.after_from) > 0)
    if len(waits):
        ends, first = end[graph.after_op], graph.after_from[waits]
        out[waits] = np.maximum(out[waits], np.maximum.reduceat(ends, first))
        sure[waits] = np.minimum.reduceat(ends, first) != UNKNOWN
    follows = np.flatnonzero(known.before >= 0)
    ends = end[known.before[follows]]
    out[follows] = np.maximum(out[follows], ends)
    sure[follows] &= ends != UNKNOWN
    return out, sure


def _first_ends(known: Structure, there: npt.NDArray[np.bool_], end: I64) -> I64:
    """The ends of all ops; of members of a collective the end of the first to leave it."""
    over = end.copy()
    order, first, size = _meetings(known, there)
    if len(order):
        over[order] = np.repeat(np.minimum.reduceat(end[order], first), size)
    return over


def _meetings(known: Structure, there: npt.NDArray[np.bool_]) -> tuple[I64, I64, I64]:
    """The members of collectives that are there, by match; where each begins, and how many."""
    met = known.meets[there[known.meets]]
    order = met[np.argsort(known.graph.match[met], kind="stable")]
    match = known.graph.match[order]
    first = np.flatnonzero(np.append(True, match[1:] != match[:-1])) if len(order) else order
    return order, first, np.diff(np.append(first, len(order)))


def _met(known: Structure, there: npt.NDArray[np.bool_], begun: I64, end: I64) -> I64:
    """When the own work of each op began: transfers begin when all have come."""
    begin = begun.copy()
    order, first, size = _meetings(known, there)
    if len(order):
        begin[order] = np.repeat(np.maximum.reduceat(begun[order], first), size)
    receives = np.flatnonzero(known.send >= 0)
    sent = np.where(there[known.send[receives]], begun[known.send[receives]], UNKNOWN)
    begin[receives] = np.maximum(begun[receives], sent)
    sends = known.send[receives]
    waited = there[sends] & there[receives] & (begun[receives] < end[sends])
    waited &= ~known.reads_on[receives]
    begin[sends[waited]] = np.maximum(begun[sends], begun[receives])[waited]
    return begin
