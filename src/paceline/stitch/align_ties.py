"""What ties the clocks of several workers together, as columns of raw times.

From matches and pings come three kinds of facts: ends that coincide (of one collective), moments
that cannot lie before others (a receive's end and its send's start; what a ping heard), and the
ends of messages, which say little but more than nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import I64, UNKNOWN, Columns, Kind, Trace
from paceline.stitch.alignments import ends_of
from paceline.stitch.matches import Matches
from paceline.stitch.meeting import occurrence, packed, runs

_PLENTY = 200  # rows of a family of which more need not be told


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Meets(Columns):
    """Members of collectives: rows of one `meet` are neighbors and ended together.

    Meets of one `family` (same workers, name and size) scatter alike.
    """

    meet: I64
    family: I64
    trace: I64
    event: I64
    start_ns: I64
    end_ns: I64

    def __len__(self) -> int:
        return len(self.meet)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Orders(Columns):
    """Rows that say: `before_ns` on one trace's clock is not later than `after_ns` on another's.

    `sent_ns` is the end of the send on the first clock, or the same as `before_ns` in a ping.
    """

    before: I64
    before_ns: I64
    after: I64
    after_ns: I64
    sent_ns: I64

    def __len__(self) -> int:
        return len(self.before)


def meets(traces: Sequence[Trace], matches: Matches) -> Meets:
    """The timed members of all collectives in which at least two are timed."""
    rows = np.flatnonzero(matches.kind[matches.match] == Kind.COLLECTIVE)
    start, end, name, size = _times(traces, matches, rows)
    timed = (start != UNKNOWN) & (end != UNKNOWN)
    match = matches.match[rows].astype(np.int64)
    members = np.bincount(match[timed], minlength=len(matches))
    kept = timed & (members[match] > 1)
    meet = runs(match[kept])
    trace = matches.trace[rows][kept].astype(np.int64)
    family = packed(trace, name[kept], size[kept])[meet.heads]
    return Meets(
        meet=meet.run,
        family=packed(runs(family).run, matches.group[match[kept]][meet.heads].astype(np.int64))[
            meet.run
        ],
        trace=trace,
        event=matches.event[rows][kept],
        start_ns=start[kept],
        end_ns=end[kept],
    )


def thinned(given: Meets, rows: int) -> Meets:
    """About so many rows at most: every so-manieth meet of each family, none of small families."""
    stride = -(-len(given) // rows)
    if stride <= 1:
        return given
    families = runs(given.family)
    alike = families.counts // _PLENTY
    every = np.clip(alike, 1, stride)[families.run]
    first = runs(given.meet)
    number = occurrence(given.family[first.heads])[first.run]
    kept = number % every == 0
    return Meets(**{
        name: getattr(given, name)[kept]
        for name in ("meet", "family", "trace", "event", "start_ns", "end_ns")
    })  # fmt: skip


def _times(traces: Sequence[Trace], matches: Matches, rows: I64) -> tuple[I64, I64, I64, I64]:
    start, end, name, size = np.full((4, len(rows)), UNKNOWN)
    of_trace = runs(matches.trace[rows].astype(np.int64))
    for part in np.split(of_trace.order, of_trace.first[1:-1]):
        if not len(part):
            continue
        trace = traces[int(matches.trace[rows[part[0]]])]
        event = matches.event[rows[part]]
        start[part], end[part] = trace.start_ns[event], ends_of(trace)[event]
        name[part], size[part] = trace.name[event], trace.size_bytes[event]
    return start, end, name, size


def orders(traces: Sequence[Trace], matches: Matches) -> Orders:
    """What messages and pings say about the order of moments on two clocks."""
    rows = np.flatnonzero(matches.kind[matches.match] == Kind.SEND)
    rows = rows[: len(rows) - len(rows) % 2].reshape(-1, 2)
    kind = _kinds(traces, matches, rows[:, 0])
    send = np.where(kind == Kind.SEND, rows[:, 0], rows[:, 1])
    receive = np.where(kind == Kind.SEND, rows[:, 1], rows[:, 0])
    _, sent, _, _ = _times(traces, matches, send)
    start = _issued(traces, matches, send)
    _, end, _, _ = _times(traces, matches, receive)
    before, after = matches.trace[send].astype(np.int64), matches.trace[receive].astype(np.int64)
    kept = (start != UNKNOWN) & (end != UNKNOWN) & (before != after)
    pinged = _pings(traces)
    messages = np.stack([before, start, after, end, np.where(sent == UNKNOWN, start, sent)], axis=1)
    table = np.concatenate([messages[kept], pinged])
    return Orders(
        before=table[:, 0],
        before_ns=table[:, 1],
        after=table[:, 2],
        after_ns=table[:, 3],
        sent_ns=table[:, 4],
    )


def _issued(traces: Sequence[Trace], matches: Matches, rows: I64) -> I64:
    """When each send began at the earliest.

    Some events of sends begin after the data has left (gloo's, by up to a time slice of the
    scheduler); what the send is after, and was still running then, is what sent it.
    """
    out = np.full(len(rows), UNKNOWN)
    of_trace = runs(matches.trace[rows].astype(np.int64))
    for part in np.split(of_trace.order, of_trace.first[1:-1]):
        if not len(part):
            continue
        trace = traces[int(matches.trace[rows[part[0]]])]
        event = matches.event[rows[part]]
        count = trace.after_from[event + 1] - trace.after_from[event]
        at = np.repeat(np.arange(len(event)), count)
        edge = np.repeat(trace.after_from[event], count) + occurrence(at)
        own = trace.after_worker[edge] == trace.worker
        at, issuer = at[own], trace.after_index[edge[own]]
        start, begun = trace.start_ns[event], trace.start_ns[issuer]
        running = (begun != UNKNOWN) & (begun <= start[at]) & (ends_of(trace)[issuer] >= start[at])
        np.minimum.at(start, at[running], begun[running])
        out[part] = start
    return out


def _kinds(traces: Sequence[Trace], matches: Matches, rows: I64) -> I64:
    out = np.empty(len(rows), dtype=np.int64)
    for position in np.unique(matches.trace[rows]):
        own = matches.trace[rows] == position
        out[own] = traces[int(position)].kind[matches.event[rows[own]]]
    return out


def _pings(traces: Sequence[Trace]) -> I64:
    """Each ping as two rows: asked before the peer answered, answered before it was heard."""
    position = {trace.worker: index for index, trace in enumerate(traces)}
    table: list[tuple[int, int, int, int, int]] = []
    for index, trace in enumerate(traces):
        for ping in trace.pings:
            peer = position.get(ping.peer)
            if peer is None or peer == index or ping.received_ns < ping.sent_ns:
                continue
            table.append((index, ping.sent_ns, peer, ping.peer_ns, ping.sent_ns))
            table.append((peer, ping.peer_ns, index, ping.received_ns, ping.peer_ns))
    return np.array(table, dtype=np.int64).reshape(-1, 5)
