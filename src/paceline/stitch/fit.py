"""How long each op's own work takes, and how long it hesitates before it.

An op may begin when the one before it on its lane and all that it is after have ended; the time
from there to its start is its lead. Its own work runs from its start, or from the last end it was
waiting for, to its end. A member of a collective waits until the last one came: the transfer is the
shortest of the members' durations, and no longer than from the last arrival until half of them had
left, since one thread may be stopped before it stamps its end. A message is under way when both of
its sides are there; a send that ended before its receiver came did not wait for it. What a send
waited besides counts to the lead of what follows, unless that follows the receive, too.
"""

import itertools

import numpy as np
import numpy.typing as npt

from paceline.model import I64, UNKNOWN, Graph, Kind, Times, reading_on
from paceline.stitch.nest import Mask


class Recorded:
    """Own work and lead of each op of a graph, step by step; what no step changes is kept."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order = np.lexsort((graph.lane, graph.worker))  # stable: ids rise within a lane
        lane, worker = graph.lane[self.order], graph.worker[self.order]
        new = np.flatnonzero((np.diff(lane) != 0) | (np.diff(worker) != 0)) + 1
        self.bounds = [0, *new.tolist(), len(graph)]
        self.waiting = np.flatnonzero(np.diff(graph.after_from) > 0)
        self.members = np.flatnonzero((graph.match >= 0) & (graph.kind == Kind.COLLECTIVE))
        self.receives, self.sends = messages(graph)
        self.awaited_sends = ~reading_on(graph)[self.receives]

    def times(self, start_ns: I64, end_ns: I64) -> Times:
        """The times of one step; -1 for an op that the step does not hold."""
        known = start_ns != UNKNOWN
        start, end = np.where(known, start_ns, 0), np.where(known, end_ns, 0)
        begun = np.where(known, np.maximum(start, self.free(end)), 0)
        own = np.maximum(end - self._under_way(begun, end, known), 0)
        left = end.copy()
        left[self.sends] = (begun + own)[self.sends]
        lead = np.maximum(start - self.free(left), 0)
        self._equalize(own, begun, end, known)
        return Times(duration_ns=np.where(known, own, -1), lead_ns=np.where(known, lead, -1))

    def free(self, end: I64) -> I64:
        """When all that each op needs had ended."""
        return np.maximum(self.before(end), self.awaited(end))

    def _under_way(self, begun: I64, end: I64, known: Mask) -> I64:
        """When each op's own work began: that of a message, when both sides were there."""
        out = begun.copy()
        receive, send = self.receives, self.sends
        out[receive] = np.maximum(begun[receive], begun[send])
        # a send that ended before its receiver came did not wait for it
        came = known[receive] & (begun[receive] < end[send]) & self.awaited_sends
        out[send[came]] = np.maximum(begun[send], begun[receive])[came]
        return out

    def awaited(self, end: I64) -> I64:
        """When the last op that each op is after had ended."""
        out = np.zeros(len(end), dtype=np.int64)
        if len(self.waiting):
            ends = end[self.graph.after_op]
            firsts = self.graph.after_from[self.waiting]
            out[self.waiting] = np.maximum.reduceat(ends, firsts)
        return out

    def before(self, end: I64) -> I64:
        """When the ops before each one on its lane had ended; 0 for the first."""
        latest = np.zeros(len(end), dtype=np.int64)
        for first, last in itertools.pairwise(self.bounds):
            ops = self.order[first:last]
            latest[ops[1:]] = np.maximum.accumulate(end[ops[:-1]])
        return latest

    def _equalize(self, own: npt.NDArray[np.int64], begun: I64, end: I64, known: Mask) -> None:
        """Gives all members of a collective its transfer."""
        rows = self.members[known[self.members]]
        if not len(rows):
            return
        rows = rows[np.lexsort((end[rows], self.graph.match[rows]))]
        match = self.graph.match[rows]
        first = np.flatnonzero(np.append(True, match[1:] != match[:-1]))
        size = np.diff(np.append(first, len(rows)))
        shortest = np.minimum.reduceat(own[rows], first)
        last_arrival = np.maximum.reduceat(begun[rows], first)
        half_left = end[rows[first + (size - 1) // 2]]
        transfer = np.maximum(np.minimum(shortest, half_left - last_arrival), 0)
        own[rows] = np.repeat(transfer, size)


def messages(graph: Graph) -> tuple[I64, I64]:
    """The receive and the send of each message that has both."""
    at = np.full((2, len(graph.match_group)), -1, dtype=np.int64)
    for row, kind in enumerate((Kind.RECV, Kind.SEND)):
        ops = np.flatnonzero((graph.kind == kind) & (graph.match >= 0))
        at[row, graph.match[ops]] = ops
    both = (at >= 0).all(axis=0)
    return at[0, both], at[1, both]
