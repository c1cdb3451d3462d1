"""The slowest cut of a network between workers, by maximum flows. Compiled.

However gradients travel, what the workers on one side of a cut own must cross it: all-gather takes
at least (S / n) * max over cuts A of (workers in A) / (rate out of A), and packed trees attain it
(Edmonds 1973; ForestColl, arXiv 2402.06787). The worst ratio is found by Dinkelbach's iteration:
guess, look for a cut that is worse by a maximum flow to each worker, take its ratio, look again.
"""

import numpy as np

from paceline.model import F64, I64
from paceline.plan.compiled import compiled


@compiled
def _flow_cut(left: F64, source: int, sink: int, seen: I64) -> float:
    """The maximum flow; afterwards `seen` is 1 on the source's side of a least cut."""
    size = len(left)
    before = np.empty(size, dtype=np.int64)
    queue = np.empty(size, dtype=np.int64)
    total = 0.0
    smallest = 1e-12 * left.max()
    for _ in range(16 * size * size):
        seen[:] = 0
        seen[source], queue[0], first, last = 1, source, 0, 1
        while first < last and seen[sink] == 0:
            at = queue[first]
            first += 1
            for to in range(size):
                if seen[to] == 0 and left[at, to] > smallest:
                    seen[to], before[to], queue[last] = 1, at, to
                    last += 1
        if seen[sink] == 0:
            return total
        room, at = np.inf, sink
        while at != source:
            room = min(room, left[before[at], at])
            at = before[at]
        at = sink
        while at != source:
            left[before[at], at] -= room
            left[at, before[at]] += room
            at = before[at]
        total += room
    return total


@compiled
def slowest_cut(  # noqa: PLR0912 - one loop: compiled functions inline nothing that allocates
    rate: F64, workers: F64
) -> tuple[float, I64]:
    """The largest ratio of workers in a set of places to the rate out of it, and that set.

    Sets that hold all workers do not count. Infinite where workers cannot reach one another.
    """
    size = len(workers)
    n = workers.sum()
    worst = 0.0
    inside = np.zeros(size, dtype=np.int64)
    seen = np.zeros(size + 1, dtype=np.int64)
    for at in range(size):
        if 0 < workers[at] < n:
            out = rate[at].sum()
            if out <= 0:
                inside[:] = 0
                inside[at] = 1
                return np.inf, inside
            if workers[at] / out > worst:
                worst = workers[at] / out
                inside[:] = 0
                inside[at] = 1
    if worst == 0.0:
        return worst, inside
    left = np.zeros((size + 1, size + 1))
    for sink in range(size):
        if workers[sink] == 0:
            continue
        for _ in range(4 * size):
            left[:size, :size] = rate
            left[:size, size], left[size, :size] = 0.0, workers / worst
            left[size, size] = 0.0
            _flow_cut(left, size, sink, seen)
            held, out = 0.0, 0.0
            for at in range(size):
                if seen[at] == 1:
                    held += workers[at]
                    for to in range(size):
                        if seen[to] == 0:
                            out += rate[at, to]
            if held == 0.0:
                break
            if out <= 0.0:
                inside[:] = seen[:size]
                return np.inf, inside
            if held / out <= worst * (1 + 1e-10):
                break
            worst = held / out
            inside[:] = seen[:size]
    return worst, inside
