"""The collectives of a state, one a row: who meets, how many bytes, how long, under which law."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.model import I64, OPERATIONS, Graph, Kind
from paceline.rewrite.operation import first_op, operations
from paceline.rewrite.state import State


@dataclass(frozen=True, slots=True)
class Transfers:
    """Every collective of a state: its match, one op of it, its law's row, size and time.

    Size and time are -1 where one member does not know it; the time is that of the slowest member.
    `members` are the ops of all of them, match by match in order of workers, those of row i from
    `first[i]` on.
    """

    match: I64
    op: I64
    row: I64
    size_bytes: I64
    duration_ns: I64
    members: I64
    first: I64

    @property
    def counts(self) -> I64:
        """How many members each has."""
        return np.diff(self.first, append=len(self.members))

    def members_of(self, at: int) -> I64:
        """The ops of one collective."""
        last = self.first[at + 1] if at + 1 < len(self.first) else len(self.members)
        return self.members[self.first[at] : last]

    def workers_of(self, graph: Graph, at: int) -> tuple[int, ...]:
        """The workers of one collective, by rank."""
        return tuple(int(rank) for rank in graph.worker[self.members_of(at)])

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value a collective, repeated for each of its members."""
        return np.repeat(values, self.counts)


def sizes(state: State) -> I64:
    """The bytes of each op: its own, else those of its work; -1 where neither is known."""
    graph = state.graph
    by_work = np.array(
        [-1 if w.size_bytes is None else w.size_bytes for w in graph.works], np.int64
    )
    if not len(by_work):
        return graph.size_bytes
    return np.where(graph.size_bytes >= 0, graph.size_bytes, by_work[graph.work])


def transfers(state: State) -> Transfers:
    """All collectives that have members."""
    graph = state.graph
    ops = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    first = first_op(graph, ops)
    match = np.flatnonzero(first >= 0)
    op = first[match].astype(np.int64)
    order = ops[np.lexsort((graph.worker[ops], graph.match[ops]))]
    starts = np.flatnonzero(np.diff(graph.match[order], prepend=-1))
    return Transfers(
        match=match,
        op=op,
        row=_rows(state, match, op),
        size_bytes=_over_members(sizes(state)[order], starts),
        duration_ns=_over_members(state.times.duration_ns[order], starts),
        members=order,
        first=starts,
    )


def _over_members(values: I64, starts: I64) -> I64:
    if not len(values):
        return values
    most = np.maximum.reduceat(values, starts)
    return np.where(np.minimum.reduceat(values, starts) < 0, -1, most)


def _rows(state: State, match: I64, op: I64) -> I64:
    graph = state.graph
    group = graph.match_group[match].astype(np.int64)
    group[group < 0] = len(graph.groups)
    if not len(op):
        return group
    return group * len(OPERATIONS) + operations(graph)[graph.work[op]]
