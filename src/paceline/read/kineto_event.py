"""The entries of a profiler's array, decoded as far as they are needed.

Arguments stay raw at first: only those of entries that become rows are decoded, and each class of
entries has a type with the few fields that it needs, since every field costs the decoder time.
Arguments of an unexpected type are taken one by one, and what does not fit is left out.
"""

import json
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt

from paceline.model import F64, I32, I64
from paceline.read.kineto_keys import Keys
from paceline.read.kineto_time import EXACT_US, ns_of_doubles, ns_of_texts, whole_us_ns

Number: TypeAlias = int | float | str | None
NAN = float("nan")
NO_ARGS = msgspec.Raw(b"{}")


class Entry(msgspec.Struct, gc=False):
    """One entry; `ts` and `dur` in microseconds, NaN where they are missing."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: int | float = NAN
    dur: int | float = NAN
    args: msgspec.Raw = NO_ARGS
    id: int | str = 0


class ExactEntry(msgspec.Struct, gc=False):
    """The same with times as text, for times that a double cannot hold."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: msgspec.Raw = msgspec.Raw(b"-1")
    dur: int | float = NAN
    args: msgspec.Raw = NO_ARGS
    id: int | str = 0


class OpArgs(msgspec.Struct, gc=False, frozen=True):
    """Of an operator or an annotation."""

    external: Number = msgspec.field(name="External id", default=-1)
    record: Number = msgspec.field(name="Record function id", default=-1)
    sequence: Number = msgspec.field(name="Sequence number", default=-1)
    finished: bool | str | None = True


class CallArgs(msgspec.Struct, gc=False, frozen=True):
    """Of a runtime call."""

    correlation: Number = -1


class DeviceArgs(msgspec.Struct, gc=False, frozen=True):
    """Of a kernel or a copy."""

    correlation: Number = -1
    external: Number = msgspec.field(name="External id", default=-1)
    bytes: Number = -1


class SyncArgs(msgspec.Struct, gc=False, frozen=True):
    """Of a synchronization (category cuda_sync)."""

    correlation: Number = -1
    waited: Number = msgspec.field(name="wait_on_stream", default=-1)
    recorded: Number = msgspec.field(name="wait_on_cuda_event_record_corr_id", default=-1)


class MetaArgs(msgspec.Struct, gc=False, frozen=True):
    """Of a metadata entry."""

    name: Number = None


class MemoryArgs(msgspec.Struct, gc=False, frozen=True):
    """Of an allocation; `device` 0 is the host."""

    total: Number = msgspec.field(name="Total Allocated", default=-1)
    device: Number = msgspec.field(name="Device Type", default=0)


class TalkArgs(msgspec.Struct, gc=False, frozen=True):
    """Of whatever describes a collective or a message."""

    collective: Number = msgspec.field(name="Collective name", default=None)
    dtype: Number = None
    elements: Number = msgspec.field(name="In msg nelems", default=None)
    group: Number = msgspec.field(name="Process Group Name", default=None)
    ranks: str | list[int] | None = msgspec.field(name="Process Group Ranks", default=None)
    group_size: Number = msgspec.field(name="Group size", default=None)
    first_rank: Number = msgspec.field(name="Global rank start", default=None)
    stride: Number = msgspec.field(name="Global rank stride", default=None)
    sequence: Number = msgspec.field(name="Seq", default=None)
    source: Number = msgspec.field(name="Src Rank", default=None)
    target: Number = msgspec.field(name="Dst Rank", default=None)
    inputs: list[Any] | None = msgspec.field(name="Concrete Inputs", default=None)
    dims: list[Any] | None = msgspec.field(name="Input Dims", default=None)
    types: list[Any] | None = msgspec.field(name="Input type", default=None)


Args = TypeVar("Args", bound=msgspec.Struct)
_DECODERS: dict[type, tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[Any]]] = {
    kind: (msgspec.json.Decoder(list[kind]), msgspec.json.Decoder(kind))
    for kind in (OpArgs, CallArgs, DeviceArgs, SyncArgs, MetaArgs, MemoryArgs, TalkArgs)
}
_ENTRIES = msgspec.json.Decoder(list[Entry])
_EXACT = msgspec.json.Decoder(list[ExactEntry])


def args_of(raws: list[msgspec.Raw], kind: type[Args]) -> list[Args]:
    """The arguments of many entries of one class; defaults where they are of no use."""
    together, _ = _DECODERS[kind]
    try:
        return together.decode(b"".join((b"[", b",".join(raws), b"]")))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [_args(bytes(raw), kind) for raw in raws]


def _args(raw: bytes, kind: type[Args]) -> Args:
    _, single = _DECODERS[kind]
    try:
        return single.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        fields: object = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except ValueError:
        fields = {}
    fitting: dict[str, object] = {}
    for key, value in cast(dict[str, object], fields if isinstance(fields, dict) else {}).items():
        try:
            msgspec.convert({key: value}, kind)
        except (msgspec.ValidationError, ValueError):
            continue
        fitting[key] = value
    return msgspec.convert(fitting, kind)


@dataclass(slots=True)
class Batch:
    """Entries with what they are and their times; -1 (start) and NaN (duration) if unusable."""

    entries: list[Entry] | list[ExactEntry]
    keys: I32
    start_ns: I64
    duration_us: F64
    exact: bool = False  # its times needed their text

    def __len__(self) -> int:
        return len(self.entries)

    def usable(self) -> npt.NDArray[np.bool_]:
        """Which entries have the times of a span."""
        return (self.start_ns >= 0) & (self.duration_us >= 0) & (self.duration_us < EXACT_US)


def batch_of(piece: bytes, exact: bool, keys: Keys) -> Batch:
    """The entries of `[piece]`; `exact` says that its times are known to need their text.

    Raises a decoding error also for numbers that have no machine type.
    """
    entries: list[Entry] | list[ExactEntry] = [] if exact else _ENTRIES.decode(piece)
    start_ns = None if exact else _starts([entry.ts for entry in entries])
    if start_ns is None:
        entries = _EXACT.decode(piece)
        start_ns = ns_of_texts([bytes(entry.ts) for entry in entries])
        exact = True
    try:
        durations = np.array([entry.dur for entry in entries], dtype=np.float64)
    except OverflowError as error:
        raise msgspec.ValidationError("a duration does not fit in 64 bits") from error
    return Batch(entries, keys_of(entries, keys), start_ns, durations, exact)


def keys_of(entries: list[Entry] | list[ExactEntry], keys: Keys) -> I32:
    """The keys of entries."""
    looks = zip(
        [entry.name for entry in entries],
        [entry.ph for entry in entries],
        [entry.cat for entry in entries],
        [entry.pid for entry in entries],
        [entry.tid for entry in entries],
        strict=True,
    )
    return np.fromiter(map(keys.__getitem__, looks), np.int32, len(entries))


def _starts(us: list[int | float]) -> I64 | None:
    """The starts, None if doubles are too coarse for them or they have no machine type."""
    starts = np.array(us)
    if starts.dtype == np.int64:
        return whole_us_ns(starts)
    if starts.dtype != np.float64 or (np.abs(starts) >= EXACT_US).any():
        return None
    return ns_of_doubles(starts)


def text_of(value: object) -> str:
    """The value as text that every encoding accepts (half a surrogate pair is no text)."""
    return "" if value is None else str(value).encode("utf-8", "replace").decode()
