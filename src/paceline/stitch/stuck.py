"""Finds collectives that began and never ended: who entered them, who did not, and what those did.

Comes in: one trace a worker, and the matches among their events. Goes out: the calls that hang,
earliest first. A recording that was simply cut off looks alike on all workers: a call that every
member entered is no hang, whatever became of it.
"""

from collections.abc import Sequence

import numpy as np

from paceline.model import UNKNOWN, Kind, Stuck, Trace
from paceline.stitch.matches import Matches

MOST = 16  # calls that are told; one hang leaves many behind it


def calls(traces: Sequence[Trace], matches: Matches) -> tuple[Stuck, ...]:
    """The collectives that some members entered and others did not, none of which ended."""
    found: dict[tuple[object, ...], tuple[int, Stuck]] = {}
    ranks = tuple(trace.worker for trace in traces)
    for at, trace in enumerate(traces):
        hangs = (trace.kind == Kind.COLLECTIVE) & (trace.duration_ns == UNKNOWN)
        for event in np.flatnonzero(hangs & (trace.start_ns != UNKNOWN)).tolist():
            entered = _entered(traces, matches, at, event)
            stuck = _call(traces, trace, event, entered, ranks)
            key = (stuck.group, stuck.sequence, stuck.name, stuck.entered)
            if stuck.absent and key not in found:
                found[key] = (int(trace.start_ns[event]), stuck)
    first = sorted(found.values(), key=lambda row: row[0])
    return tuple(stuck for _, stuck in first[:MOST])


def _entered(traces: Sequence[Trace], matches: Matches, at: int, event: int) -> tuple[int, ...]:
    rows = np.flatnonzero((matches.trace == at) & (matches.event == event))
    if not len(rows):
        return (traces[at].worker,)
    together = matches.trace[matches.match == matches.match[rows[0]]]
    return tuple(sorted({traces[int(other)].worker for other in together}))


def _call(
    traces: Sequence[Trace],
    trace: Trace,
    event: int,
    entered: tuple[int, ...],
    ranks: tuple[int, ...],
) -> Stuck:
    group = trace.groups[int(trace.group[event])] if trace.group[event] >= 0 else None
    members = group.members if group is not None and group.members is not None else None
    if members is None:
        members = tuple(range(trace.facts.workers)) if trace.facts.workers else ranks
    absent = tuple(rank for rank in members if rank not in entered)
    sequence = int(trace.sequence[event])
    return Stuck(
        group=None if group is None else group.name,
        sequence=None if sequence < 0 else sequence,
        name=trace.names[int(trace.name[event])],
        entered=entered,
        absent=absent,
        instead=tuple(_instead(traces, rank) for rank in absent),
    )


def _instead(traces: Sequence[Trace], rank: int) -> str:
    """What a worker did last."""
    trace = next((trace for trace in traces if trace.worker == rank), None)
    if trace is None:
        return f"worker {rank} left no trace"
    known = np.flatnonzero(trace.start_ns != UNKNOWN)
    if not len(known):
        return f"worker {rank} recorded nothing with a time"
    last = trace.event(int(known[np.argmax(trace.start_ns[known])]))
    what = f"{last.name}"
    if last.group is not None and last.sequence is not None:
        what += f" ({last.group}, {last.sequence})"
    state = "is still in" if last.duration_ns is None else "last finished"
    return f"worker {rank} {state} {what}"
