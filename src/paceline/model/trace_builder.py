"""Builds a Trace column by column: readers append rows, then ask for the finished noun.

Texts are interned as they come, so that a file of ten million events keeps each name once.
"""

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from paceline.model.columns import UNKNOWN, chained
from paceline.model.trace import (
    Facts,
    Group,
    Kind,
    Norms,
    Note,
    Phase,
    Ping,
    Source,
    Trace,
    no_norms,
)


class Table:
    """Texts with their positions; equal texts share one."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The position of the text, new or known."""
        return self.index.setdefault(text, len(self.index))

    def texts(self) -> tuple[str, ...]:
        """All texts in order of position."""
        return tuple(self.index)


_COLUMNS = {
    "name": "i", "kind": "B", "phase": "B", "lane": "i", "step": "q", "start_ns": "q",
    "duration_ns": "q", "layer": "i", "size_bytes": "q", "group": "i", "sequence": "q",
    "peer": "i", "bucket": "i", "chunk": "i", "round": "i", "algorithm": "h", "record": "q",
}  # fmt: skip


class TraceBuilder:
    """Rows in, Trace out. Not for people: the reader has checked what it appends."""

    def __init__(self) -> None:
        self.columns: dict[str, array[int]] = {name: array(code) for name, code in _COLUMNS.items()}
        self.names, self.lanes, self.layers, self.algorithms = Table(), Table(), Table(), Table()
        self.groups: dict[str, tuple[int, Group]] = {}
        self.after: dict[int, list[tuple[int, int]]] = {}

    def __len__(self) -> int:
        return len(self.columns["name"])

    def group(self, name: str, members: tuple[int, ...] | None = None) -> int:
        """The position of the group; members fill in when first told."""
        if name not in self.groups:
            self.groups[name] = (len(self.groups), Group(name=name, members=members))
        at, old = self.groups[name]
        if old.members is None and members is not None:
            self.groups[name] = (at, Group(name=name, members=members))
        return at

    def add(
        self,
        name: str,
        kind: Kind,
        lane: str,
        start_ns: int = UNKNOWN,
        duration_ns: int = UNKNOWN,
        *,
        phase: Phase = Phase.OTHER,
        step: int = -1,
        layer: str | None = None,
        size_bytes: int = -1,
        group: int = -1,
        sequence: int = -1,
        peer: int = -1,
        bucket: int = -1,
        chunk: int = -1,
        round: int = -1,
        algorithm: str | None = None,
        record: int = -1,
        after: Iterable[tuple[int, int]] = (),
    ) -> int:
        """Appends one event and returns its index; `group` is what `self.group` returned."""
        index = len(self)
        row = (
            self.names.add(name), kind, phase, self.lanes.add(lane), step, start_ns, duration_ns,
            -1 if layer is None else self.layers.add(layer), size_bytes, group, sequence, peer,
            bucket, chunk, round, -1 if algorithm is None else self.algorithms.add(algorithm),
            record,
        )  # fmt: skip
        for column, value in zip(self.columns.values(), row, strict=True):
            column.append(value)
        links = list(after)
        if links:
            self.after[index] = links
        return index

    def trace(
        self,
        worker: int,
        *,
        clock: str | None,
        facts: Facts | None = None,
        pings: tuple[Ping, ...] = (),
        norms: Norms | None = None,
        notes: tuple[Note, ...] = (),
        sources: tuple[Source, ...] = (),
    ) -> Trace:
        """The finished trace."""
        lengths = np.zeros(len(self), dtype=np.int64)
        for index, links in self.after.items():
            lengths[index] = len(links)
        flat = [link for index in sorted(self.after) for link in self.after[index]]
        columns: dict[str, Any] = {name: np.array(own) for name, own in self.columns.items()}
        return Trace(
            worker=worker,
            clock=clock,
            **columns,
            after_from=chained(lengths),
            after_worker=np.array([w for w, _ in flat], dtype=np.int32),
            after_index=np.array([i for _, i in flat], dtype=np.int64),
            names=self.names.texts(),
            lanes=self.lanes.texts(),
            layers=self.layers.texts(),
            groups=tuple(group for _, group in self.groups.values()),
            algorithms=self.algorithms.texts(),
            facts=facts or Facts(),
            pings=pings,
            norms=norms or no_norms(),
            notes=notes,
            sources=sources,
        )
