"""The talking events of all traces side by side: what `match` works on.

Traces come in; collectives, sends and receives come out as one set of columns, ordered by trace and
then by time. Names and groups, which each trace numbers for itself, get one numbering.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import I64, TALKING, UNKNOWN, Columns, Group, Table, Trace
from paceline.stitch.groups import shared
from paceline.stitch.meeting import packed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Talk(Columns):
    """One talking event a row; `end_ns` is UNKNOWN where the event never ended."""

    trace: I64
    event: I64
    kind: I64
    name: I64
    group: I64
    worker: I64
    peer: I64
    step: I64
    sequence: I64
    size_bytes: I64
    hop: I64
    start_ns: I64
    end_ns: I64
    groups: tuple[Group, ...]

    def __len__(self) -> int:
        return len(self.trace)


def of(traces: Sequence[Trace]) -> Talk:
    """All talking events, by position of the trace and then in the order they happened."""
    chosen = [_in_order(trace) for trace in traces]
    named = Table()
    names = [_renamed(trace, rows, named) for trace, rows in zip(traces, chosen, strict=True)]
    groups, grouped = shared(traces, chosen)

    def column(name: str) -> I64:
        parts = [getattr(t, name)[rows] for t, rows in zip(traces, chosen, strict=True)]
        return np.concatenate(parts or [np.empty(0)]).astype(np.int64)

    counts = np.array([len(rows) for rows in chosen], dtype=np.int64)
    workers = np.array([trace.worker for trace in traces], dtype=np.int64)
    start, duration = column("start_ns"), column("duration_ns")
    ended = (start != UNKNOWN) & (duration != UNKNOWN)
    return Talk(
        trace=np.repeat(np.arange(len(traces)), counts),
        event=_joined(chosen),
        kind=column("kind"),
        name=_joined(names),
        group=_joined(grouped),
        worker=np.repeat(workers, counts),
        peer=column("peer"),
        step=column("step"),
        sequence=column("sequence"),
        size_bytes=column("size_bytes"),
        hop=_hops(column("bucket"), column("chunk"), column("round")),
        start_ns=start,
        end_ns=np.where(ended, start + np.where(ended, duration, 0), UNKNOWN),
        groups=groups,
    )


def _hops(bucket: I64, chunk: I64, turn: I64) -> I64:
    """One number for (bucket, chunk, round), equal where all three are; -1 where none is known."""
    known = (bucket >= 0) | (chunk >= 0) | (turn >= 0)
    return np.where(known, packed(bucket, chunk, turn), -1)


def _joined(parts: Sequence[I64]) -> I64:
    return np.concatenate([*parts, np.empty(0, dtype=np.int64)])


def _in_order(trace: Trace) -> I64:
    rows = np.flatnonzero(np.isin(trace.kind, [int(kind) for kind in TALKING]))
    start = trace.start_ns[rows]
    if (start == UNKNOWN).any():  # file order is then the only order there is
        return rows
    return rows[np.argsort(start, kind="stable")]


def _renamed(trace: Trace, rows: I64, table: Table) -> I64:
    used, own = np.unique(trace.name[rows], return_inverse=True)
    return np.array([table.add(trace.names[int(name)]) for name in used], dtype=np.int64)[own]
