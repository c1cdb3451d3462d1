"""Own work and waiting apart: since when each op of a measured step could do its own work.

Comes in: a graph and a timeline. Goes out: times by op, and what intervals cover. An op awaits all
that it comes after and its forerunner in its lane; a collective its last member, a receive its
send. What lies between is the op's own, and pauses before an op belong to its worker.
"""

from typing import NamedTuple

import numpy as np

from paceline.model import F64, I32, I64, UNKNOWN, Graph, Kind, Timeline


class Awaited(NamedTuple):
    """Pairs of ops (first, second): the second cannot begin before the first has ended."""

    first: I32
    second: I32


def awaited(graph: Graph) -> Awaited:
    """What each op comes after, in the graph and in its lane."""
    second = np.repeat(np.arange(len(graph), dtype=np.int32), np.diff(graph.after_from))
    device = graph.worker.astype(np.int64) * len(graph.lanes) + graph.lane
    by_lane = np.argsort(device, kind="stable").astype(np.int32)
    same = device[by_lane[1:]] == device[by_lane[:-1]]
    return Awaited(
        np.concatenate((graph.after_op, by_lane[:-1][same])),
        np.concatenate((second, by_lane[1:][same])),
    )


def ready_ns(line: Timeline, pairs: Awaited) -> I64:
    """When all that an op awaits had ended; its own start where nothing awaited is on record."""
    known = line.start_ns != UNKNOWN
    both = known[pairs.first] & known[pairs.second]
    ready = np.full(len(line), UNKNOWN)
    np.maximum.at(ready, pairs.second[both], line.end_ns[pairs.first[both]])
    return np.where(ready == UNKNOWN, line.start_ns, ready)


def begun_ns(graph: Graph, line: Timeline, pairs: Awaited) -> I64:
    """When each op began its own work: before that it waited for others."""
    begun = np.maximum(line.start_ns, ready_ns(line, pairs))
    meets = np.flatnonzero((graph.match >= 0) & (line.start_ns != UNKNOWN))
    latest = np.full(len(graph.match_group), UNKNOWN)
    np.maximum.at(latest, graph.match[meets], begun[meets])
    waits = meets[np.isin(graph.kind[meets], (Kind.COLLECTIVE, Kind.RECV))]
    begun[waits] = np.maximum(begun[waits], latest[graph.match[waits]])
    return np.where(line.start_ns == UNKNOWN, UNKNOWN, np.minimum(begun, line.end_ns))


def covered_ns(start: I64, end: I64, worker: I32, workers: int) -> F64:
    """How much time the intervals of each worker cover, overlaps counted once."""
    if not len(start):
        return np.zeros(workers)
    # workers stand one after the other on one axis, so that one running maximum serves all
    apart = worker * np.int64(end.max() - start.min() + 1) - start.min()
    order = np.argsort(start + apart)
    begins, ends = (start + apart)[order], np.maximum.accumulate((end + apart)[order])
    before = np.concatenate((begins[:1], ends[:-1]))
    fresh = np.maximum(0, ends - np.maximum(begins, before))
    covered = np.bincount(worker[order], weights=fresh, minlength=workers)
    return covered.astype(np.float64)
