"""Ops dropped, merged and repeated: every column, dependency, match and origin follows.

The tables of works, layers, groups and buckets keep their positions, so that what speaks of them
by number (the spreads of a profile) stays true; only matches are counted anew.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, Graph, Times
from paceline.rewrite.ragged import gathered, ragged, rows_of
from paceline.rewrite.state import State

_BY_OP = ("kind", "phase", "worker", "lane", "work", "layer", "bucket", "size_bytes", "match")


def merged(state: State, into: I32, rows: I64) -> State:
    """The state whose op i looks like op `rows[i]` of this one.

    `into` says for each old op which new one stands for it, -1 for dropped. A new op waits for all
    that its parts waited for; whoever waited for a part waits for the whole.
    """
    graph = state.graph
    waiting = into[rows_of(graph.after_from)]
    awaited = into[graph.after_op]
    real = (waiting >= 0) & (awaited >= 0) & (waiting != awaited)
    after = ragged(waiting[real], awaited[real], len(rows))
    stands = np.repeat(into, np.diff(state.origin_from))
    origins = ragged(stands[stands >= 0], state.origin_op[stands >= 0], len(rows))
    return _with_ops(state, rows, after, origins)


def kept(state: State, keep: npt.NDArray[np.bool_]) -> State:
    """The state without the other ops; nobody waits for them any more."""
    rows = np.flatnonzero(keep)
    into = np.full(len(keep), -1, dtype=np.int32)
    into[rows] = np.arange(len(rows), dtype=np.int32)
    return merged(state, into, rows)


def repeated(state: State, counts: I64) -> State:
    """The state with each op `counts` times in a row, at least once.

    Every copy waits for what the op waited for; whoever waited for it waits for the last copy.
    """
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    last = (np.cumsum(counts) - 1).astype(np.int32)
    starts, flat = gathered(state.graph.after_from, state.graph.after_op, rows)
    origins = gathered(state.origin_from, state.origin_op, rows)
    return _with_ops(state, rows, (starts, last[flat]), origins)


def taken(state: State, rows: I64, after: tuple[I64, I32]) -> State:
    """The state whose op i is op `rows[i]` of this one, each waiting for what `after` says."""
    return _with_ops(state, rows, after, gathered(state.origin_from, state.origin_op, rows))


def _with_ops(state: State, rows: I64, after: tuple[I64, I32], origins: tuple[I64, I32]) -> State:
    columns = {name: getattr(state.graph, name)[rows] for name in _BY_OP}
    graph = dataclasses.replace(state.graph, **columns, after_from=after[0], after_op=after[1])
    times = Times(duration_ns=state.times.duration_ns[rows], lead_ns=state.times.lead_ns[rows])
    return dataclasses.replace(
        state, graph=matched(graph, graph.match), times=times,
        origin_from=origins[0], origin_op=origins[1],
    )  # fmt: skip


def matched(graph: Graph, match: I32) -> Graph:
    """The graph with these matches, without the ones that nobody belongs to."""
    used = np.zeros(len(graph.match_group), dtype=bool)
    used[match[match >= 0]] = True
    number = np.cumsum(used, dtype=np.int32) - 1
    anew = np.where(match >= 0, number[match], -1) if len(number) else match
    return dataclasses.replace(
        graph, match=anew.astype(np.int32), match_group=graph.match_group[used]
    )


def cloned(state: State, ops: I64, ranks: list[int]) -> State:
    """The state with one more copy of these ops for each rank, of one worker each.

    A copy meets whom its original meets; within a copy ops wait for their own copies.
    """
    graph, count = state.graph, len(ops)
    rows = np.concatenate([np.arange(len(graph)), np.tile(ops, len(ranks))])
    place = np.full(len(graph), -1, dtype=np.int64)
    place[ops] = np.arange(count)
    starts, flat = gathered(graph.after_from, graph.after_op, rows)
    copy = np.repeat((np.arange(len(rows)) - len(graph)) // max(count, 1), np.diff(starts))
    inside = (copy >= 0) & (place[flat] >= 0)
    flat = np.where(inside, len(graph) + copy * count + place[flat], flat).astype(np.int32)
    origins = gathered(state.origin_from, state.origin_op, rows)
    out = _with_ops(state, rows, (starts, flat), origins)
    worker = out.graph.worker.copy()
    worker[len(graph) :] = np.repeat(np.array(ranks, dtype=np.int32), count)
    return dataclasses.replace(out, graph=dataclasses.replace(out.graph, worker=worker))
