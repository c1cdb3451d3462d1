"""What one worker did, on its own clock: events as columns, with frozen views for people.

A trace comes from one file. A worker may have several (its profiler's timeline, the keys of its
flight recorder, the hops of its own transport); `stitch` joins them.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import SupportsInt

import msgspec
import numpy as np

from paceline.model.columns import F64, I16, I32, I64, U8, UNKNOWN, Columns


class Kind(enum.IntEnum):
    """What an event or op is."""

    COMPUTE = 0
    COPY = 1
    SEND = 2
    RECV = 3
    COLLECTIVE = 4
    LOAD = 5
    HOST = 6


class Phase(enum.IntEnum):
    """Which part of a step an event or op belongs to."""

    FORWARD = 0
    BACKWARD = 1
    UPDATE = 2
    OTHER = 3


KINDS = {kind.name.lower(): kind for kind in Kind}
PHASES = {phase.name.lower(): phase for phase in Phase}
TALKING = (Kind.SEND, Kind.RECV, Kind.COLLECTIVE)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a thing came from."""

    path: str
    digest: str | None = None  # "sha256:..." of the file as stored
    tool: str | None = None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Workers that reduce or exchange together; `members` are ranks in group order."""

    name: str
    members: tuple[int, ...] | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a reader or stitcher could not use, in the user's terms."""

    code: str
    text: str
    worker: int | None = None
    count: int = 1


class Ping(msgspec.Struct, frozen=True, kw_only=True):
    """One clock exchange: this worker asked at `sent_ns` and heard at `received_ns` (own clock)
    that the peer's clock had stood at `peer_ns`.
    """

    peer: int
    sent_ns: int
    peer_ns: int
    received_ns: int


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace says of its worker, apart from events."""

    machine: str | None = None
    device: str | None = None
    device_memory_bytes: int | None = None
    backend: str | None = None
    workers: int | None = None
    peak_bytes: int | None = None


NO_FACTS = Facts()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event, for people; `duration_ns` None means that it never ended."""

    index: int
    name: str
    kind: Kind
    phase: Phase
    lane: str
    start_ns: int | None
    duration_ns: int | None
    step: int | None = None
    layer: str | None = None
    size_bytes: int | None = None
    group: str | None = None
    sequence: int | None = None
    peer: int | None = None
    bucket: int | None = None
    chunk: int | None = None
    round: int | None = None
    algorithm: str | None = None
    record: int | None = None
    after: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Norms(Columns):
    """Per step: the loss and the squared norms of the local and of the averaged gradient.

    NaN where a step did not record one.
    """

    step: I64
    loss: F64
    local: F64
    average: F64

    def __len__(self) -> int:
        return len(self.step)


def no_norms() -> Norms:
    """Norms of a worker that recorded none."""
    none = np.empty(0)
    return Norms(step=np.empty(0, np.int64), loss=none, local=none, average=none)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace(Columns):
    """The events of one worker, in file order.

    In columns -1 stands for "not known", except that times use `UNKNOWN`. `after` (ragged:
    event i has entries after_from[i] to after_from[i+1]) says that event i cannot have ended
    before those events ended. `record` is the framework's own id of an event, by which several
    traces of one worker are joined. `clock` names the clock of the times; None: has no times.
    """

    worker: int
    clock: str | None
    name: I32
    kind: U8
    phase: U8
    lane: I32
    step: I64
    start_ns: I64
    duration_ns: I64
    layer: I32
    size_bytes: I64
    group: I32
    sequence: I64
    peer: I32
    bucket: I32
    chunk: I32
    round: I32
    algorithm: I16
    record: I64
    after_from: I64
    after_worker: I32
    after_index: I64
    names: tuple[str, ...]
    lanes: tuple[str, ...]
    layers: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()
    algorithms: tuple[str, ...] = ()
    facts: Facts = NO_FACTS
    pings: tuple[Ping, ...] = ()
    norms: Norms
    notes: tuple[Note, ...] = ()
    sources: tuple[Source, ...] = ()

    def __len__(self) -> int:
        return len(self.name)

    def __iter__(self) -> Iterator[Event]:
        return (self.event(index) for index in range(len(self)))

    def event(self, index: int) -> Event:
        """One event as a frozen record; meant for reading, tests and messages."""
        first, last = int(self.after_from[index]), int(self.after_from[index + 1])
        group = int(self.group[index])
        after = zip(self.after_worker[first:last], self.after_index[first:last], strict=True)
        return Event(
            index=index,
            name=self.names[int(self.name[index])],
            kind=Kind(int(self.kind[index])),
            phase=Phase(int(self.phase[index])),
            lane=self.lanes[int(self.lane[index])],
            start_ns=known(self.start_ns[index], UNKNOWN),
            duration_ns=known(self.duration_ns[index], UNKNOWN),
            step=known(self.step[index]),
            layer=looked_up(self.layers, self.layer[index]),
            size_bytes=known(self.size_bytes[index]),
            group=self.groups[group].name if group >= 0 else None,
            sequence=known(self.sequence[index]),
            peer=known(self.peer[index]),
            bucket=known(self.bucket[index]),
            chunk=known(self.chunk[index]),
            round=known(self.round[index]),
            algorithm=looked_up(self.algorithms, self.algorithm[index]),
            record=known(self.record[index]),
            after=tuple((int(worker), int(event)) for worker, event in after),
        )


def known(value: SupportsInt, unknown: int = -1) -> int | None:
    """The number of a column, or None where the column says "not known"."""
    number = int(value)
    return None if number == unknown else number


def looked_up(table: tuple[str, ...], index: SupportsInt) -> str | None:
    """The text of a table, or None for -1."""
    at = int(index)
    return table[at] if at >= 0 else None
