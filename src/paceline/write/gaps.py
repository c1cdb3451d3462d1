"""Idle time without a reason: nothing of a worker ran, although one of its ops could have started.

Comes in: the graph and its measured timelines. An op can start when all that it comes after has
ended, its forerunner in its lane included. Of the time from then to its start, what no other op of
the worker fills is a gap: Python between two ops, launch overhead, a pause nobody recorded.
"""

import numpy as np

from paceline.model import F64, I32, I64, UNKNOWN, Graph, Profile, Timeline


def gaps_ns(profile: Profile) -> F64:
    """Mean idle time per step without a reason, for each worker of `profile.workers`."""
    graph = profile.graph
    ranks = np.array([worker.rank for worker in profile.workers], dtype=np.int32)
    order = np.argsort(ranks)
    worker = order[np.searchsorted(ranks, graph.worker, sorter=order)].astype(np.int32)
    first, second = _awaited(graph)
    total = np.zeros(len(ranks))
    for line in profile.measured:
        total += _idle(line, worker, first, second, len(ranks))
    return total / max(1, len(profile.measured))


def _awaited(graph: Graph) -> tuple[I32, I32]:
    """Pairs of ops (first, second): the second cannot start before the first has ended."""
    second = np.repeat(np.arange(len(graph), dtype=np.int32), np.diff(graph.after_from))
    device = graph.worker.astype(np.int64) * len(graph.lanes) + graph.lane
    by_lane = np.argsort(device, kind="stable").astype(np.int32)
    same = device[by_lane[1:]] == device[by_lane[:-1]]
    return (
        np.concatenate((graph.after_op, by_lane[:-1][same])),
        np.concatenate((second, by_lane[1:][same])),
    )


def _idle(line: Timeline, worker: I32, first: I32, second: I32, workers: int) -> F64:
    known = line.start_ns != UNKNOWN
    ready = np.full(len(line), UNKNOWN)
    both = known[first] & known[second]
    np.maximum.at(ready, second[both], line.end_ns[first[both]])
    ready = np.where(ready == UNKNOWN, line.start_ns, np.minimum(ready, line.start_ns))
    worker, ready = worker[known], ready[known]
    start, end = line.start_ns[known], line.end_ns[known]
    filled = _covered(start, end, worker, workers)
    return _covered(ready, end, worker, workers) - filled


def _covered(start: I64, end: I64, worker: I32, workers: int) -> F64:
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
