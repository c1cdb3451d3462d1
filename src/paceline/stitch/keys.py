"""Gives the events of a timeline the (group, sequence) that another recorder knows.

A flight recorder knows the key and the issue time of each collective, a profiler its event. The
recorder is a ring: it usually began earlier than the profiled window and may have forgotten the
oldest. Both list the same calls in the same order, so one shift pairs them: the latest for which
every call was issued before its event began.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from paceline.model import I64, TALKING, UNKNOWN, Group, Kind, Note, Trace
from paceline.stitch.concat import rows, together

# How far apart two recorders of one process, or its host and its device, may stamp the same moment.
_JITTER_NS = 20_000


def is_keys(trace: Trace) -> bool:
    """True for a trace that holds nothing but calls with their sequence numbers."""
    return bool(
        len(trace)
        and np.isin(trace.kind, TALKING).all()
        and (trace.sequence >= 0).all()
        and (trace.round < 0).all()
        and (trace.chunk < 0).all()
    )


def keyed(timeline: Trace, keys: Trace) -> tuple[Trace, Note | None]:
    """The timeline with keys on its events, and with the calls outside its window as events."""
    events = np.flatnonzero(np.isin(timeline.kind, TALKING) & (timeline.sequence < 0))
    event_of = np.full(len(keys), -1, dtype=np.int64)
    for own, theirs in _alike(timeline, events, keys):
        begun, issued = _ordered(timeline, own), _ordered(keys, theirs)
        shift = _shift(
            timeline.start_ns[begun], keys.start_ns[issued], same=timeline.clock == keys.clock
        )
        if shift is not None:
            met = np.arange(max(0, -shift), len(begun))
            event_of[issued[met + shift]] = begun[met]
    told = _told(timeline, keys, event_of)
    left = _outside(timeline, keys, event_of)
    unkeyed = len(events) - int((event_of >= 0).sum())
    note = Note(
        code="no-key",
        text="events of collectives or messages without an entry of the recorder",
        worker=timeline.worker,
        count=unkeyed,
    )
    return together([told, rows(keys, left)]) if len(left) else told, note if unkeyed else None


def _ordered(trace: Trace, events: I64) -> I64:
    return events[np.argsort(trace.start_ns[events], kind="stable")]


def _alike(timeline: Trace, events: I64, keys: Trace) -> list[tuple[I64, I64]]:
    """Spans and entries that could be the same calls: equal names where any are equal."""
    ours = {timeline.names[int(name)] for name in np.unique(timeline.name[events])}
    theirs = {keys.names[int(name)] for name in np.unique(keys.name)}
    shared = sorted(ours & theirs)
    if shared:
        return [
            (
                events[timeline.name[events] == timeline.names.index(name)],
                np.flatnonzero(keys.name == keys.names.index(name)),
            )
            for name in shared
        ]
    kinds = np.intersect1d(timeline.kind[events], keys.kind)
    return [(events[timeline.kind[events] == k], np.flatnonzero(keys.kind == k)) for k in kinds]


def _shift(starts: I64, issued: I64, *, same: bool) -> int | None:
    """By how many entries the first event lags the first entry; None if nothing fits."""
    if not same:
        return 0 if len(starts) == len(issued) else None

    def fits(shift: int) -> bool:
        met = np.arange(max(0, -shift), len(starts))
        return bool((issued[met + shift] <= starts[met] + _JITTER_NS).all())

    # a shift that fits leaves the earlier ones fitting, too
    low, high = -len(starts), len(issued) - len(starts)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low if low > -len(starts) else None


def _told(timeline: Trace, keys: Trace, event_of: I64) -> Trace:
    entries = np.flatnonzero(event_of >= 0)
    events = event_of[entries]
    sequence = timeline.sequence.copy()
    sequence[events] = keys.sequence[entries]
    groups, group = _grouped(timeline, keys, entries, events)
    size = timeline.size_bytes.copy()
    unknown = size[events] < 0
    size[events[unknown]] = keys.size_bytes[entries[unknown]]
    return dataclasses.replace(
        timeline, sequence=sequence, group=group, groups=groups, size_bytes=size
    )


def _grouped(
    timeline: Trace, keys: Trace, entries: I64, events: I64
) -> tuple[tuple[Group, ...], npt.NDArray[np.int32]]:
    """A sequence number counts within the recorder's own group, so both come from there."""
    table = list(timeline.groups)
    place = {group: at for at, group in reversed(list(enumerate(table)))}
    for group in keys.groups:
        if group not in place:
            place[group] = len(table)
            table.append(group)
    lookup = [place[group] for group in keys.groups]
    out = timeline.group.copy()
    out[events] = np.array([*lookup, -1])[keys.group[entries]]
    return tuple(table), out


def _outside(timeline: Trace, keys: Trace, event_of: I64) -> I64:
    """Entries issued before or after the window of the timeline; inside it they are events.

    All entries where the timeline did not record communication at all.
    """
    if timeline.clock != keys.clock:
        return np.empty(0, dtype=np.int64)
    if not np.isin(timeline.kind, TALKING).any():
        return np.arange(len(keys))
    timed = timeline.start_ns[timeline.start_ns != UNKNOWN]
    first, last = int(timed.min()), int(timed.max())
    inside = (keys.start_ns >= first) & (keys.start_ns <= last)
    return np.flatnonzero((event_of < 0) & ~inside & (keys.kind == Kind.COLLECTIVE))
