"""The spans of a Kineto file as columns: what streams in leaves only numbers behind.

Rows are the spans that become events or tell the context of events, in file order. Columns that
only some classes have (`Cat`) are as long as the rows of these classes: `external`, `record` and
`sequence` for operators and annotations, `called` for runtime calls, `launched` and `size_bytes`
for device rows.
"""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, U8
from paceline.read.kineto_event import (
    Batch,
    CallArgs,
    DeviceArgs,
    MemoryArgs,
    MetaArgs,
    Number,
    OpArgs,
    SyncArgs,
    TalkArgs,
    args_of,
    batch_of,
    text_of,
)
from paceline.read.kineto_keys import Keys
from paceline.read.kineto_names import Cat, Role, among
from paceline.read.kineto_repair import Repair
from paceline.read.kineto_talk import Talks
from paceline.read.kineto_time import ns_of_doubles
from paceline.read.pieces import Element

Mask: TypeAlias = npt.NDArray[np.bool_]

_TALKING_OPS = among(Role.NCCL, Role.GLOO, Role.PARAMS, Role.C10D)
_SPANS = among(Cat.OP, Cat.MARK, Cat.RUNTIME, Cat.KERNEL, Cat.COPY, Cat.SYNC)
_ARROWS = among(Cat.FLOW_FROM, Cat.FLOW_TO)
_RARE = among(Cat.FOREIGN, Cat.FLOW_FROM, Cat.FLOW_TO, Cat.SYNC)


class Flow(NamedTuple):
    """One end of an arrow from a forward to a backward operator."""

    id: int | str
    thread: int
    start_ns: int
    forward: bool


class Sync(NamedTuple):
    """What the profiler says of one synchronization (numbers it does not give are -1)."""

    name: str
    thread: int
    start_ns: int
    correlation: int
    waited: int
    recorded: int


class Column:
    """A column that grows by arrays, and is one array in the end."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._dtype, self._parts = dtype, list[npt.NDArray[np.generic]]()

    def add(self, part: npt.NDArray[np.generic]) -> None:
        """Appends a part."""
        self._parts.append(part.astype(self._dtype, copy=False))

    def taken(self) -> npt.NDArray[Any]:
        """All parts as one; the parts are given up."""
        whole: npt.NDArray[Any] = np.concatenate(self._parts or [np.empty(0, self._dtype)])
        self._parts.clear()
        return whole


_ROWS = {"cat": np.uint8, "role": np.uint8, "name": np.int32, "thread": np.int32, "start": np.int64,
         "duration": np.int64, "external": np.int64, "record": np.int64, "sequence": np.int64,
         "called": np.int64, "launched": np.int64, "origin": np.int64, "size_bytes": np.int64,
         "unfinished": np.int64}  # fmt: skip


class Rows:
    """Takes the entries of a file; see the module for what stays of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.anew()

    def anew(self) -> None:
        """Forgets everything."""
        self.keys, self.talks = Keys(), Talks()
        self.columns = {name: Column(dtype) for name, dtype in _ROWS.items()}
        self.count = self.entries = self.contexts_lost = self.latest_ns = 0
        self.titles: dict[int, str] = {}
        self.flows: list[Flow] = []
        self.syncs: list[Sync] = []
        self.foreign: Counter[str] = Counter()
        self._peaks = {"host": -1, "device": -1}
        self.repair = Repair(self._path, self.keys)
        self._exact = False

    def decode(self, piece: bytes) -> Batch:
        """The entries of `[piece]`; a decoding error too if a span has no proper times."""
        batch = batch_of(piece, self._exact, self.keys)
        self._exact = batch.exact
        cats = self.keys.cat(batch.keys)
        if (_SPANS[cats] & ~batch.usable()).any() or (_ARROWS[cats] & (batch.start_ns < 0)).any():
            raise msgspec.ValidationError("a span has no proper times")
        return batch

    def one_by_one(self, elements: list[Element]) -> Batch:
        """The same for entries that did not decode together, or InputError."""
        return self.repair.batch(elements)

    def take(self, batch: Batch) -> None:
        """Appends what is of use in the entries."""
        keys = self.keys
        cats, roles = keys.cat(batch.keys), keys.role(batch.keys)
        names, threads = keys.name(batch.keys), keys.thread(batch.keys)
        modules = (cats == Cat.PYTHON) & (roles == Role.MODULE)
        lost = modules & ~batch.usable()
        kept = np.flatnonzero((_SPANS[cats] & (cats != Cat.SYNC)) | (modules & ~lost))
        self.contexts_lost += int(lost.sum())
        self._add("cat", cats[kept])
        self._add("role", roles[kept])
        self._add("name", names[kept])
        self._add("thread", threads[kept])
        self._add("start", batch.start_ns[kept])
        self._add("duration", ns_of_doubles(batch.duration_us[kept]))
        self._take_ops(batch, kept, cats[kept])
        self._take_device(batch, kept, cats[kept])
        self._take_talks(batch, kept, cats[kept], roles[kept])
        self._take_memory(batch, cats)
        self._take_rest(batch, cats, names, threads)
        self.latest_ns = max(self.latest_ns, int(batch.start_ns[kept].max(initial=0)))
        self.count += len(kept)
        self.entries += len(batch)

    def _add(self, column: str, part: npt.NDArray[np.generic]) -> None:
        self.columns[column].add(part)

    def _take_ops(self, batch: Batch, kept: I64, cats: U8) -> None:
        ops = (cats == Cat.OP) | (cats == Cat.MARK)
        at: list[int] = kept[ops].tolist()
        args = args_of([batch.entries[i].args for i in at], OpArgs)
        self._add("external", whole_numbers([arg.external for arg in args]))
        self._add("record", whole_numbers([arg.record for arg in args]))
        self._add("sequence", whole_numbers([arg.sequence for arg in args]))
        ended = [arg.finished for arg in args]
        if False in ended or "false" in ended:
            endless = np.array([end is False or end == "false" for end in ended], dtype=np.bool_)
            self._add("unfinished", self.count + np.flatnonzero(ops)[endless])

    def _take_device(self, batch: Batch, kept: I64, cats: U8) -> None:
        calls: list[int] = kept[cats == Cat.RUNTIME].tolist()
        if calls:
            called = args_of([batch.entries[i].args for i in calls], CallArgs)
            self._add("called", whole_numbers([arg.correlation for arg in called]))
        device: list[int] = kept[cats >= Cat.KERNEL].tolist()
        if device:
            args = args_of([batch.entries[i].args for i in device], DeviceArgs)
            self._add("launched", whole_numbers([arg.correlation for arg in args]))
            self._add("origin", whole_numbers([arg.external for arg in args]))
            self._add("size_bytes", whole_numbers([arg.bytes for arg in args]))

    def _take_talks(self, batch: Batch, kept: I64, cats: U8, roles: U8) -> None:
        talking = _TALKING_OPS[roles] & (cats < Cat.PYTHON)
        talking |= (roles == Role.TALKING) & (cats == Cat.KERNEL)
        at = np.flatnonzero(talking)
        sources: list[int] = kept[at].tolist()
        told = args_of([batch.entries[i].args for i in sources], TalkArgs)
        for row, i, kind, args in zip(at.tolist(), sources, roles[at].tolist(), told, strict=True):
            self.talks.add(self.count + row, batch.entries[i].name, kind, args)

    def _take_rest(self, batch: Batch, cats: U8, names: I32, threads: I32) -> None:
        """What is rare: entries that are no spans, and spans of unknown categories."""
        titles = (cats == Cat.META) & (names == self.keys.names.get("thread_name", -1))
        for i in np.flatnonzero(titles).tolist():
            title = text_of(args_of([batch.entries[i].args], MetaArgs)[0].name)
            self.titles.setdefault(int(threads[i]), title.strip())  # later ones repeat
        for i in np.flatnonzero(_RARE[cats]).tolist():
            entry, thread, start = batch.entries[i], int(threads[i]), int(batch.start_ns[i])
            if cats[i] == Cat.SYNC:
                arg = args_of([entry.args], SyncArgs)[0]
                ids = whole_numbers([arg.correlation, arg.waited, arg.recorded]).tolist()
                self.syncs.append(Sync(entry.name, thread, start, *ids))
            elif cats[i] == Cat.FOREIGN:
                self.foreign[entry.cat] += 1
            else:
                forward = bool(cats[i] == Cat.FLOW_FROM)
                self.flows.append(Flow(entry.id, thread, start, forward))

    def _take_memory(self, batch: Batch, cats: U8) -> None:
        at = np.flatnonzero(cats == Cat.MEMORY).tolist()
        raws = [batch.entries[i].args for i in at if batch.entries[i].name == "[memory]"]
        if raws:
            args = args_of(raws, MemoryArgs)
            totals = whole_numbers([arg.total for arg in args])
            on_host = whole_numbers([arg.device for arg in args]) == 0
            for place, own in (("host", totals[on_host]), ("device", totals[~on_host])):
                self._peaks[place] = max(self._peaks[place], int(own.max(initial=-1)))

    def peak_bytes(self) -> int:
        """The most memory ever allocated on the device, or else on the host; -1 if not told."""
        return self._peaks["device"] if self._peaks["device"] >= 0 else self._peaks["host"]

    def column(self, name: str) -> npt.NDArray[Any]:
        """A finished column; to be asked for once."""
        return self.columns[name].taken()


def whole_numbers(values: list[Number]) -> I64:
    """The values as whole numbers; -1 for what is none, negative, or beyond 64 bits."""
    if not values:
        return np.empty(0, dtype=np.int64)
    array = np.array(values)
    if array.dtype == np.int64:
        return np.maximum(array, -1)
    return np.array([_whole(value) for value in values], dtype=np.int64)


def _whole(value: Number) -> int:
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 19 else -1
    if isinstance(value, float):
        value = int(value) if 0 <= value < 2**53 and value.is_integer() else -1
    return value if isinstance(value, int) and 0 <= value < 2**63 else -1
