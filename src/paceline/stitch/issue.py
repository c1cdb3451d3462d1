"""Finds the call that issued each collective, where a framework's trace does not link the two.

gloo runs collectives on threads of its own; the trace shows the event there and the call on the
thread that made it, and nothing that ties them. Calls and events come in the same order: a call is
taken for the issuer if it occurs as often as the events in every step, each time begins before its
event, and the event follows at once, or as soon as the events before it have ended. What happened
fewer than three times, or at the very moment of the event, may be chance.
"""

import numpy as np

from paceline.model import I64, TALKING, UNKNOWN, Trace
from paceline.stitch.concat import owners_of, with_links
from paceline.stitch.meeting import packed
from paceline.stitch.nest import Mask

_LEAST = 3  # events
_AT_ONCE_NS = 500_000  # waking a thread on a busy machine
_AT_ONCE_SHARE = 0.1  # of the time between two events


def issued(trace: Trace) -> Trace:
    """The trace in which each event that a call surely issued is after that call."""
    talks = np.isin(trace.kind, TALKING) & (trace.step >= 0) & (trace.start_ns != UNKNOWN)
    tied = np.zeros(len(trace), dtype=np.bool_)
    tied[owners_of(trace)] = True
    events = np.flatnonzero(talks & ~tied)
    calls = np.flatnonzero(
        ~np.isin(trace.kind, TALKING) & (trace.step >= 0) & (trace.start_ns != UNKNOWN)
    )
    if not len(events) or not len(calls):
        return trace
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")]
    owners: list[I64] = []
    targets: list[I64] = []
    for name in np.unique(trace.name[events]):
        own = events[trace.name[events] == name]
        if len(own) < _LEAST:
            continue
        own = own[np.argsort(trace.start_ns[own], kind="stable")]
        call = _issuer(trace, own, calls[~np.isin(trace.lane[calls], trace.lane[own])])
        if call is not None:
            owners.append(own)
            targets.append(call)
    if not owners:
        return trace
    return with_links(trace, np.concatenate(owners), np.concatenate(targets))


def _issuer(trace: Trace, events: I64, calls: I64) -> I64 | None:
    """For each event its call; None if no call fits, or if none follows closely."""
    free = _free(trace, events)
    start = trace.start_ns[events]
    best: tuple[float, I64] | None = None
    for name in _as_often(trace, events, calls):
        own = calls[trace.name[calls] == name]
        if (trace.start_ns[own] >= start).any() or (trace.step[own] != trace.step[events]).any():
            continue
        lag = float(np.median(start - np.maximum(trace.start_ns[own], free)))
        if best is None or lag < best[0]:
            best = lag, own
    apart = float(np.median(np.diff(start))) if len(start) > 1 else np.inf
    if best is None or best[0] > min(_AT_ONCE_NS, _AT_ONCE_SHARE * apart):
        return None
    return best[1]


def _as_often(trace: Trace, events: I64, calls: I64) -> I64:
    """Names of which every step holds as many calls as events."""
    steps, counts = np.unique(trace.step[events], return_counts=True)
    inside = calls[np.isin(trace.step[calls], steps)]
    code = packed(trace.name[inside].astype(np.int64), trace.step[inside])
    _, first, times = np.unique(code, return_index=True, return_counts=True)
    name, step = trace.name[inside[first]], trace.step[inside[first]]
    equal = times == counts[np.searchsorted(steps, step)]
    fitting = np.bincount(name[equal], minlength=len(trace.names))
    everywhere = np.bincount(trace.name[calls], minlength=len(trace.names))
    return np.flatnonzero((fitting == len(steps)) & (everywhere == len(events)))


def _free(trace: Trace, events: I64) -> I64:
    """When the event before each one on its lane had ended."""
    lasting = np.where(trace.duration_ns[events] == UNKNOWN, 0, trace.duration_ns[events])
    end = trace.start_ns[events] + lasting
    order = np.argsort(trace.lane[events], kind="stable")
    free = np.full(len(events), UNKNOWN)
    same: Mask = trace.lane[events[order[1:]]] == trace.lane[events[order[:-1]]]
    free[order[1:]] = np.where(same, end[order[:-1]], UNKNOWN)
    return free
