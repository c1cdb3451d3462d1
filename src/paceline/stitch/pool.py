"""Gives the calls of a pool of threads lanes that do not change from step to step.

A pool serves its queue with whichever thread is free, so the second collective runs on one thread
in this step and on another in the next. Within each step the calls are laid on the pool's lanes
anew: in order of start, each on the first lane that is free. Each call, by its turn in the step,
then keeps the lane that it had in most steps.
"""

import dataclasses
from collections import Counter

import numpy as np

from paceline.model import I64, TALKING, UNKNOWN, Trace

_STEADY = 0.9  # share of steps in which a lane that is no part of a pool does the same


def unpooled(trace: Trace) -> Trace:
    """The trace with a steady lane for each call of a pool."""
    lanes = _pool(trace)
    if len(lanes) < 2:
        return trace
    calls = np.flatnonzero(
        np.isin(trace.lane, lanes) & (trace.step >= 0) & (trace.start_ns != UNKNOWN)
    )
    calls = calls[np.lexsort((trace.start_ns[calls], trace.step[calls]))]
    _, first = np.unique(trace.step[calls], return_index=True)
    turn = np.arange(len(calls)) - np.repeat(first, np.diff(np.append(first, len(calls))))
    votes = np.zeros((int(turn.max()) + 1, len(lanes)), dtype=np.int64)
    np.add.at(votes, (turn, _laid(trace, calls, len(lanes))), 1)
    lane = trace.lane.copy()
    lane[calls] = lanes[votes.argmax(axis=1)[turn]]
    return dataclasses.replace(trace, lane=lane)


def _pool(trace: Trace) -> I64:
    """The lanes that only talk and do other things in other steps, by first use."""
    used = np.unique(trace.lane)
    silent = np.unique(trace.lane[~np.isin(trace.kind, TALKING)])
    talking = np.setdiff1d(used, silent)
    timed = (trace.step >= 0) & (trace.start_ns != UNKNOWN)
    rows = np.flatnonzero(np.isin(trace.lane, talking) & timed)
    if len(talking) < 2 or not len(rows):
        return np.empty(0, dtype=np.int64)
    done: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row in rows[np.argsort(trace.start_ns[rows], kind="stable")].tolist():
        what = (int(trace.name[row]), int(trace.size_bytes[row]))
        done.setdefault((int(trace.lane[row]), int(trace.step[row])), []).append(what)
    steps = len(np.unique(trace.step[rows]))
    often = {int(lane): Counter[tuple[tuple[int, int], ...]]() for lane in talking}
    for (lane, _), calls in done.items():
        often[lane][tuple(calls)] += 1
    restless = [
        lane for lane, seen in often.items() if max(seen.values(), default=0) < _STEADY * steps
    ]
    began = {lane: trace.start_ns[rows[trace.lane[rows] == lane]] for lane in restless}
    restless.sort(key=lambda lane: (int(began[lane].min(initial=2**62)), lane))
    return np.array(restless, dtype=np.int64)


def _laid(trace: Trace, calls: I64, count: int) -> I64:
    """The first lane that is free for each call, in order of start within each step."""
    lasting = np.where(trace.duration_ns[calls] == UNKNOWN, 0, trace.duration_ns[calls])
    start = trace.start_ns[calls].tolist()
    end = (trace.start_ns[calls] + lasting).tolist()
    step = trace.step[calls].tolist()
    out = np.zeros(len(calls), dtype=np.int64)
    free: list[int] = []
    for row in range(len(calls)):
        if row == 0 or step[row] != step[row - 1]:
            free = [UNKNOWN] * count
        ready = [lane for lane in range(count) if free[lane] <= start[row]]
        out[row] = ready[0] if ready else free.index(min(free))
        free[out[row]] = end[row]
    return out
