"""Idle time without a reason: nothing of a worker ran, although one of its ops could have started.

Comes in: the graph and its measured timelines. An op can start when all that it comes after has
ended, its forerunner in its lane included. Of the time from then to its start, what no other op of
the worker fills is a gap: Python between two ops, launch overhead, a pause nobody recorded.
"""

import numpy as np

from paceline.model import F64, I32, UNKNOWN, Profile, Timeline
from paceline.write.apart import Awaited, awaited, covered_ns, ready_ns


def gaps_ns(profile: Profile) -> F64:
    """Mean idle time per step without a reason, for each worker of `profile.workers`."""
    graph = profile.graph
    ranks = np.array([worker.rank for worker in profile.workers], dtype=np.int32)
    order = np.argsort(ranks)
    worker = order[np.searchsorted(ranks, graph.worker, sorter=order)].astype(np.int32)
    pairs = awaited(graph)
    total = np.zeros(len(ranks))
    for line in profile.measured:
        total += _idle(line, worker, pairs, len(ranks))
    return total / max(1, len(profile.measured))


def _idle(line: Timeline, worker: I32, pairs: Awaited, workers: int) -> F64:
    known = line.start_ns != UNKNOWN
    ready = np.minimum(ready_ns(line, pairs), line.start_ns)
    worker, ready = worker[known], ready[known]
    start, end = line.start_ns[known], line.end_ns[known]
    filled = covered_ns(start, end, worker, workers)
    return covered_ns(ready, end, worker, workers) - filled
