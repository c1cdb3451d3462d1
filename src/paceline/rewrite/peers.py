"""What an op's peers take: the same work on all other workers, in all steps.

Own work and lead of every op are read off the measured steps: work begins when nothing is awaited
any more, a collective takes as long as the member that came last was in it, a receive begins no
sooner than its send. Without measured steps the times at hand are the only step there is.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, UNKNOWN, Graph, Kind, Timeline, chained
from paceline.rewrite.message import ends
from paceline.rewrite.select import Mask
from paceline.rewrite.state import State, devices

_MOST = 20_000_000  # samples looked at; beyond it steps are taken at equal distances


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of one quantity: which work, on which worker, how long."""

    work: I64
    worker: I64
    value: I64

    def where(self, mask: Mask) -> "Samples":
        """Some of the samples."""
        return Samples(self.work[mask], self.worker[mask], self.value[mask])


def samples(state: State, ops: Mask) -> tuple[Samples, Samples]:
    """All durations and all leads of works that these ops do; works as in the state's table."""
    graph = state.profile.graph
    number = {work: at for at, work in enumerate(graph.works)}
    theirs = np.array([number.get(work, -1) for work in state.graph.works], dtype=np.int64)
    lines = state.profile.measured
    if not lines:
        graph, theirs = state.graph, np.arange(len(state.graph.works))
    wanted = np.zeros(len(graph.works) + 1, dtype=bool)
    wanted[theirs[np.unique(state.graph.work[ops])]] = True
    wanted[-1] = False  # works that were never measured
    some = np.flatnonzero(wanted[graph.work])
    back = np.full(len(graph.works), -1, dtype=np.int64)
    known = np.flatnonzero(theirs >= 0)
    back[theirs[known]] = known
    every = 1 + len(some) * len(lines) // _MOST
    taken = [own_and_lead(graph, line) for line in lines[::every]]
    taken = taken or [(state.times.duration_ns, state.times.lead_ns)]
    work, worker = back[graph.work[some]], graph.worker[some].astype(np.int64)
    work, worker = np.tile(work, len(taken)), np.tile(worker, len(taken))
    both = (
        Samples(work, worker, np.concatenate([step[column][some] for step in taken]))
        for column in (0, 1)
    )
    durations, leads = (one.where(one.value >= 0) for one in both)
    return durations, leads


def own_and_lead(graph: Graph, line: Timeline) -> tuple[I64, I64]:
    """How long each op worked and how late it began, in one measured step; -1 for not known."""
    known = line.start_ns != UNKNOWN
    start, end = np.where(known, line.start_ns, 0), np.where(known, line.end_ns, 0)
    awaited = _awaited(graph, end)
    lead = np.maximum(start - np.maximum(_before_on_lane(graph, end), awaited), 0)
    begin = np.maximum(start, awaited)
    sends, receives = ends(graph)
    under_way = begin.copy()
    under_way[receives] = np.maximum(begin[receives], begin[sends])
    own = np.maximum(end - under_way, 0)
    _shortest_of_members(graph, own, known)
    return np.where(known, own, -1), np.where(known, lead, -1)


def _awaited(graph: Graph, end: I64) -> I64:
    """When all that each op is after had ended."""
    out = np.zeros(len(graph), dtype=np.int64)
    waiting = np.flatnonzero(np.diff(graph.after_from))
    if len(waiting):
        out[waiting] = np.maximum.reduceat(end[graph.after_op], graph.after_from[waiting])
    return out


def _before_on_lane(graph: Graph, end: I64) -> I64:
    """When the op before each one on its lane had ended."""
    out = np.zeros(len(graph), dtype=np.int64)
    device = devices(graph)
    order = np.argsort(device, kind="stable")
    same = np.diff(device[order]) == 0
    out[order[1:][same]] = end[order[:-1][same]]
    return out


def _shortest_of_members(graph: Graph, own: I64, known: Mask) -> None:
    ops = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0) & known)
    least = np.full(len(graph.match_group), np.iinfo(np.int64).max)
    np.minimum.at(least, graph.match[ops], own[ops])
    own[ops] = least[graph.match[ops]]


def typical(found: Samples, key: I64) -> F64:
    """The median over all other workers, for rising keys `work << 32 | worker`.

    Where nobody else does the work it is the median over the worker's own steps; NaN where nobody
    was measured at it.
    """
    order = np.lexsort((found.value, found.work))
    works, value = found.work[order], found.value[order]
    own = works << 32 | found.worker[order]
    first = np.searchsorted(works, key >> 32, side="left")
    count = np.searchsorted(works, key >> 32, side="right") - first
    row = np.minimum(np.searchsorted(key, own), len(key) - 1)
    at = np.flatnonzero(key[row] == own)
    at = at[np.argsort(row[at], kind="stable")]
    row = row[at]
    mine = np.bincount(row, minlength=len(key))
    # how many samples of others lie below each of its own, of which there may be several
    below = at - first[row] - (np.arange(len(at)) - chained(mine)[row])
    others = count - mine
    alone = others == 0
    others = np.where(alone, count, others)
    middle = np.zeros(len(key))
    for rank in ((others - 1) // 2, others // 2):
        passed = np.bincount(row, below <= rank[row], minlength=len(key)).astype(np.int64)
        place = first + rank + np.where(alone, 0, passed)
        middle += value[np.minimum(place, len(value) - 1)] / 2 if len(value) else 0.0
    return np.where(count > 0, middle, np.nan)
