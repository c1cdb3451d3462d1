"""Lays the dependencies of an execution trace onto the timeline of the same worker.

An execution trace knows which operator needs whose result, but not when anything ran. It is joined
where both recorders gave an operator the same id; failing that, lane by lane where both list
exactly the same operators in the same order. Otherwise nothing is guessed.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import I64, UNKNOWN, Note, Table, Trace
from paceline.stitch.concat import owners_of, with_links

# Ids of two different counters overlap by accident; then the names they point at disagree.
_AGREEING = 0.9


def depending(timeline: Trace, execution: Trace) -> tuple[Trace, Note | None]:
    """The timeline with the dependencies that could be carried over, or a Note that none could."""
    at = _by_record(timeline, execution)
    if at is None:
        at = _by_order(timeline, execution)
    if at is None:
        text = "execution trace not joined: neither its ids nor its order of operators agree"
        return timeline, Note(
            code="not-joined", text=text, worker=timeline.worker, count=len(execution)
        )
    own = execution.after_worker == execution.worker
    owner = at[owners_of(execution)[own]]
    target = at[execution.after_index[own]]
    both = (owner >= 0) & (target >= 0) & (owner != target)
    owner, target = owner[both], target[both]
    ends = np.where(timeline.duration_ns == UNKNOWN, 0, timeline.duration_ns) + timeline.start_ns
    possible = ends[target] <= ends[owner]
    return with_links(timeline, owner[possible], target[possible]), None


def _named(timeline: Trace, execution: Trace) -> tuple[I64, I64]:
    """The names of both in one numbering."""
    table = Table()
    lookups = [np.array([table.add(n) for n in t.names]) for t in (timeline, execution)]
    return lookups[0][timeline.name], lookups[1][execution.name]


def _by_record(timeline: Trace, execution: Trace) -> I64 | None:
    """The timeline event of each execution event, by id; None if the ids are of another kind."""
    ours, theirs = np.flatnonzero(timeline.record >= 0), np.flatnonzero(execution.record >= 0)
    _, a, b = np.intersect1d(timeline.record[ours], execution.record[theirs], return_indices=True)
    if not len(a):
        return None
    mine, its = _named(timeline, execution)
    agree = mine[ours[a]] == its[theirs[b]]
    if agree.mean() < _AGREEING:
        return None
    out = np.full(len(execution), -1, dtype=np.int64)
    out[theirs[b[agree]]] = ours[a[agree]]
    return out


def _by_order(timeline: Trace, execution: Trace) -> I64 | None:
    """The timeline event of each execution event, on lanes that list exactly the same names."""
    if not len(timeline) or not len(execution):
        return None
    mine, its = _named(timeline, execution)
    listed = _sequences(timeline, np.argsort(timeline.start_ns, kind="stable"), mine)
    out = np.full(len(execution), -1, dtype=np.int64)
    for names, events in _sequences(execution, np.arange(len(execution)), its).items():
        if names in listed:
            out[events] = listed[names]
    return out if (out >= 0).any() else None


def _sequences(
    trace: Trace, order: npt.NDArray[np.int64], names: I64
) -> dict[bytes, npt.NDArray[np.int64]]:
    """The events of each lane in order, by their names."""
    lanes = trace.lane[order]
    found: dict[bytes, npt.NDArray[np.int64]] = {}
    for lane in np.unique(lanes):
        events = order[lanes == lane]
        found[names[events].tobytes()] = events
    return found
