"""One step of the whole job: structure without times.

Ops are columns; `Op` is the view for people. An op's own work begins when all ops in `after` have
ended, so a blocking wait (a synchronization, a receive) is a dependency and not part of its work.
Ops of one match meet: the members of a collective, or the send and the receive of one message.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from paceline.model.columns import I32, I64, U8, Columns
from paceline.model.trace import Group, Kind, Phase, known, looked_up


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """Gradients reduced together."""

    size_bytes: int
    tensors: tuple[str, ...] = ()


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What an op does, apart from who does it and when: equal on peers and in every step.

    `occurrence` counts equal work of one worker within a step.
    """

    name: str
    kind: Kind
    phase: Phase = Phase.OTHER
    layer: str | None = None
    size_bytes: int | None = None
    algorithm: str | None = None
    occurrence: int = 0


class Op(msgspec.Struct, frozen=True, kw_only=True):
    """One op, for people; `members` are the ops that it meets, itself included."""

    id: int
    name: str
    kind: Kind
    phase: Phase
    worker: int
    lane: str
    work: Work
    after: tuple[int, ...] = ()
    layer: str | None = None
    bucket: int | None = None
    size_bytes: int | None = None
    group: str | None = None
    members: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Graph(Columns):
    """All ops of one step on all workers; ids are positions.

    `worker` holds ranks, listed in `workers`. A lane belongs to one worker: the pair (worker,
    lane) is the device, and its ops run in id order. `match` is -1 or the match of an op;
    `match_group` says which group (position in `groups`, or -1) each match belongs to.
    """

    kind: U8
    phase: U8
    worker: I32
    lane: I32
    work: I32
    layer: I32
    bucket: I32
    size_bytes: I64
    match: I32
    after_from: I64
    after_op: I32
    match_group: I32
    workers: tuple[int, ...]
    works: tuple[Work, ...]
    lanes: tuple[str, ...]
    layers: tuple[str, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    groups: tuple[Group, ...] = ()

    def __len__(self) -> int:
        return len(self.kind)

    def __iter__(self) -> Iterator[Op]:
        members = self.members()
        return (self._op(index, members) for index in range(len(self)))

    def after(self, index: int) -> I32:
        """The ops that must have ended before this one begins its work."""
        return self.after_op[self.after_from[index] : self.after_from[index + 1]]

    def members(self) -> tuple[I32, ...]:
        """The ops of each match, by id."""
        meeting = np.flatnonzero(self.match >= 0)
        order = meeting[np.argsort(self.match[meeting], kind="stable")].astype(np.int32)
        counts = np.bincount(self.match[meeting], minlength=len(self.match_group))
        return tuple(np.split(order, np.cumsum(counts)[:-1])) if len(counts) else ()

    def op(self, index: int) -> Op:
        """One op as a frozen record; meant for reading, tests and messages."""
        return self._op(index, self.members())

    def _op(self, index: int, members: tuple[I32, ...]) -> Op:
        match = int(self.match[index])
        group = int(self.match_group[match]) if match >= 0 else -1
        work = self.works[int(self.work[index])]
        return Op(
            id=index,
            name=work.name,
            kind=Kind(int(self.kind[index])),
            phase=Phase(int(self.phase[index])),
            worker=int(self.worker[index]),
            lane=self.lanes[int(self.lane[index])],
            work=work,
            after=tuple(int(op) for op in self.after(index)),
            layer=looked_up(self.layers, self.layer[index]),
            bucket=known(self.bucket[index]),
            size_bytes=known(self.size_bytes[index]),
            group=self.groups[group].name if group >= 0 else None,
            members=tuple(int(op) for op in members[match]) if match >= 0 else (),
        )
