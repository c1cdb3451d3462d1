"""Horovod's timeline: what was negotiated and reduced, tensor by tensor, on one worker.

A Chrome trace array that older versions never close. A tensor is a "process" there; its events
begin and end by B and E, and an E has no name. docs/formats/horovod.md tells what becomes of each.
"""

import math
import re

import msgspec

from paceline.model import Facts, InputError, Kind, Note, Trace, TraceBuilder
from paceline.read.kineto_names import collective
from paceline.read.opened import Opened
from paceline.read.pieces import Pieces
from paceline.read.typed_elements import TypedElements

NAME: str = "horovod"

_START = re.compile(rb"\s*\[")
_MARK = re.compile(rb'"name":\s*"NEGOTIATE_')
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_BITS = {
    "bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "float16": 16, "bfloat16": 16,
    "int32": 32, "uint32": 32, "float32": 32, "int64": 64, "uint64": 64, "float64": 64,
}  # fmt: skip
_COLLECTIVES = frozenset({
    "all_reduce", "all_gather", "broadcast", "all_to_all", "reduce_scatter", "adasum", "barrier",
})  # fmt: skip
_BACKENDS = {"NCCL": "nccl", "MPI": "mpi", "GLOO": "gloo", "CCL": "ccl", "DDL": "ddl"}
_FARTHEST_US = 2**51  # 71 years, and exact as a double


class _Args(msgspec.Struct):
    name: str | None = None
    dtype: str | None = None
    shape: str | None = None
    start_time_since_epoch_in_micros: int | None = None


class _Entry(msgspec.Struct):
    ph: str | None = None
    name: str | None = None
    ts: int | float | None = None
    pid: int | None = None
    args: _Args | None = None


def sniff(opened: Opened) -> bool:
    """True for an array of events in which something is negotiated."""
    return bool(_START.match(opened.head) and _MARK.search(opened.head))


def read(opened: Opened) -> tuple[Trace, ...]:
    """The trace of the worker that wrote the file; its rank is in the name of the file at best."""
    pieces = Pieces(opened, "traceEvents", frozenset(), TypedElements(opened, _Entry, "event"))
    reading = _Reading(opened)
    for batch in pieces:
        for entry in batch:
            reading.take(entry)
    return (reading.trace(pieces.broken_off),)


class _Reading:
    """The events so far, and those that have not ended."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.builder = TraceBuilder()
        self.tensors: dict[int, str] = {}
        self.open: dict[int, list[int]] = {}  # of each tensor: its events without end, by nesting
        self.origin_us: int | None = None
        self.backend: str | None = None
        self.ready: set[int] = set()
        self.lost = {"E": 0, "back": 0}

    def take(self, entry: _Entry) -> None:
        """One event of the file."""
        if entry.ph == "M":
            self._know(entry)
        elif entry.pid is None or entry.ts is None:
            return  # a marker of a cycle
        elif not abs(entry.ts) < _FARTHEST_US:
            raise InputError(
                f"has an event at {entry.ts} µs.",
                where=self.opened.path,
                expected="Times are microseconds since the job began.",
                cure="Record it again.",
            )
        elif entry.ph == "B" and entry.name is not None:
            self._begin(entry.pid, entry.name, round(entry.ts * 1000))
        elif entry.ph == "E":
            self._end(entry.pid, round(entry.ts * 1000), entry.args or _Args())
        elif entry.ph == "X" and entry.name is not None and entry.name.isdecimal():
            self._tick(entry.pid, entry.name, round(entry.ts * 1000))

    def _know(self, entry: _Entry) -> None:
        args = entry.args or _Args()
        if entry.name != "process_name":
            return
        if args.start_time_since_epoch_in_micros is not None and not len(self.builder):
            origin = args.start_time_since_epoch_in_micros
            self.origin_us = origin if 0 < origin < _FARTHEST_US else None
        if entry.pid is not None and args.name is not None:
            self.tensors[entry.pid] = args.name

    def _tensor(self, pid: int) -> str:
        return self.tensors.get(pid, f"tensor {pid}")

    def _ns(self, own_ns: int) -> int:
        return own_ns + (self.origin_us or 0) * 1000

    def _begin(self, pid: int, name: str, at_ns: int) -> None:
        stack = self.open.setdefault(pid, [])
        tensor = self._tensor(pid)
        kind, word = _meant(name, len(stack))
        lane = f"{tensor} phases" if stack else tensor
        self.backend = self.backend or (_BACKENDS.get(name.partition("_")[0]) if stack else None)
        stack.append(self.builder.add(word, kind, lane, self._ns(at_ns), layer=tensor))

    def _end(self, pid: int, at_ns: int, args: _Args) -> None:
        stack = self.open.get(pid)
        if not stack:
            self.lost["E"] += 1
            return
        row = stack.pop()
        columns = self.builder.columns
        duration = self._ns(at_ns) - columns["start_ns"][row]
        if duration < 0:
            self.lost["back"] += 1
            return
        columns["duration_ns"][row] = duration
        if columns["kind"][row] == Kind.COLLECTIVE:
            columns["size_bytes"][row] = _size(args)

    def _tick(self, pid: int, name: str, at_ns: int) -> None:
        rank = int(name) if len(name) < 7 else -1
        self.ready.add(rank)
        tensor = self._tensor(pid)
        lane = f"{tensor} ready"
        start = self._ns(at_ns)
        self.builder.add("rank ready", Kind.HOST, lane, start, 0, layer=tensor, peer=rank)

    def trace(self, broken_off: int | None) -> Trace:
        """The finished trace."""
        if not len(self.builder):
            raise InputError("holds no event.", where=self.opened.path, cure="Record it again.")
        everyone = self.ready == set(range(len(self.ready))) and len(self.ready) > 1
        return self.builder.trace(
            -1,
            clock="horovod" if self.origin_us is None else "unix",
            facts=Facts(backend=self.backend, workers=len(self.ready) if everyone else None),
            notes=self._notes(broken_off),
            sources=(self.opened.source(NAME),),
        )

    def _notes(self, broken_off: int | None) -> tuple[Note, ...]:
        unended = sum(map(len, self.open.values()))
        counts = {
            "no-begin": (self.lost["E"], "Ends without a begin were left out."),
            "clock-back": (
                self.lost["back"],
                "Events that end before they begin have no end here.",
            ),
            "unfinished": (unended, "Events had not ended when the file did."),
        }
        notes = [Note(code=c, text=text, count=n) for c, (n, text) in counts.items() if n]
        if broken_off is not None:
            text = f"The file breaks off at byte {broken_off:,}, inside an event."
            notes.append(Note(code="truncated", text=text))
        return tuple(notes)


def _meant(name: str, depth: int) -> tuple[Kind, str]:
    """What an event is, and its name in the words of all readers."""
    if depth:
        return (Kind.COPY if name.startswith("MEMCPY") else Kind.HOST), name
    if name.startswith("NEGOTIATE_"):
        return Kind.HOST, f"negotiate {collective(name.removeprefix('NEGOTIATE_'))}"
    word = collective(name)
    return (Kind.COLLECTIVE, word) if word in _COLLECTIVES else (Kind.HOST, name)


def _size(args: _Args) -> int:
    """Bytes of the tensor that an end describes, -1 if it does not."""
    word = (args.dtype or "").lower().removeprefix("horovod_")
    bits = _BITS.get(word, 0)
    lengths = [length.strip() for length in (args.shape or "x").strip("[] ").split(",") if length]
    if not bits or len(lengths) > 64 or not all(_LENGTH.fullmatch(length) for length in lengths):
        return -1
    size = math.prod(map(int, lengths)) * bits // 8
    return size if size < 2**62 else -1
