"""Puts the hops of a transport beside the timeline of the same worker.

A transport knows neither the profiler's steps nor how it names its lanes. Hops take the step that
was under way when they began, and lanes of their own; what a thread did to issue them, and to wait
for them, goes onto that thread's lane.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from paceline.model import I64, TALKING, UNKNOWN, Trace


def carried(hops: Trace, lead: Sequence[Trace]) -> Trace:
    """The hops with the steps and lanes of the worker's other traces."""
    return _stepped(_own_lanes(hops, lead), lead)


def _own_lanes(hops: Trace, lead: Sequence[Trace]) -> Trace:
    """Hops on lanes that nobody else has, a thread's own doing on the lane of that thread."""
    others = {lane: lane for part in lead for lane in part.lanes}
    threads = {lane.partition(" (")[0]: lane for lane in others} | others
    talking = set(np.unique(hops.lane[np.isin(hops.kind, TALKING)]).tolist())
    lanes = tuple(
        (f"{lane} hops" if lane in others else lane) if at in talking else threads.get(lane, lane)
        for at, lane in enumerate(hops.lanes)
    )
    return dataclasses.replace(hops, lanes=lanes)


def _stepped(hops: Trace, lead: Sequence[Trace]) -> Trace:
    """Gives each event without a step the one in which it began; none before the first and last."""
    if not lead:
        return hops
    step: I64 = np.concatenate([part.step[part.start_ns != UNKNOWN] for part in lead])
    start: I64 = np.concatenate([part.start_ns[part.start_ns != UNKNOWN] for part in lead])
    marked = step >= 0
    steps, which = np.unique(step[marked], return_inverse=True)
    if not len(steps):
        return hops
    began = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(began, which, start[marked])
    ended = int(start[marked].max())  # of the last step, as far as its events show
    order = np.argsort(began, kind="stable")
    at = np.searchsorted(began[order], hops.start_ns, side="right") - 1
    loose = (hops.step < 0) & (hops.start_ns != UNKNOWN) & (at >= 0) & (hops.start_ns <= ended)
    return dataclasses.replace(
        hops, step=np.where(loose, steps[order][np.maximum(at, 0)], hops.step)
    )
