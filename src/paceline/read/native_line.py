"""The lines of a native trace as typed records, and bytes decoded into them.

One fast decoder takes a piece in which every line is an event; any other piece is walked line by
line, which also finds the number of a broken line. docs/formats/native.md is the specification.
"""

import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from paceline.model import UNKNOWN, Facts, InputError, Note, Ping
from paceline.read.lines import Piece
from paceline.read.nearest import nearest

VERSION = 1
ABSENT = UNKNOWN + 1  # the line has no start_ns, which differs from a start_ns of null

Rank: TypeAlias = Annotated[int, Meta(ge=0, lt=10**6)]
Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**62)]
Time: TypeAlias = Annotated[int, Meta(gt=-(2**62), lt=2**62)]
Text: TypeAlias = str | None
Whole: TypeAlias = int | None


class Header(msgspec.Struct, forbid_unknown_fields=True):
    """The first line."""

    paceline_trace: int
    workers: Annotated[int, Meta(ge=1, le=10**6)] | None = None
    kind: Text = None
    source: Text = None
    clock: Text = "unix"


class EventLine(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One event; numbers are checked by column, after decoding."""

    worker: int
    name: str
    kind: str
    phase: Text = None
    lane: Text = None
    step: Whole = -1
    start_ns: Whole = ABSENT
    duration_ns: Whole = UNKNOWN
    layer: Text = None
    size_bytes: Whole = -1
    group: Text = None
    sequence: Whole = -1
    peer: Whole = -1
    bucket: Whole = -1
    chunk: Whole = -1
    round: Whole = -1
    algorithm: Text = None
    record: Whole = -1
    after: tuple[tuple[int, int], ...] | None = None


class GroupLine(msgspec.Struct, forbid_unknown_fields=True):
    """Who belongs to a group; without worker it holds for all who use it or belong to it."""

    group: str
    members: tuple[Rank, ...] | None = None
    worker: Rank | None = None


class FactsOf(Facts, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts, strictly."""

    device_memory_bytes: Count | None = None
    workers: Count | None = None
    peak_bytes: Count | None = None


class PingOf(Ping, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ping, strictly."""

    peer: Rank
    sent_ns: Time
    peer_ns: Time
    received_ns: Time


class NoteOf(Note, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A note, strictly."""

    worker: Rank | None = None
    count: Count = 1


class NormsOf(msgspec.Struct, forbid_unknown_fields=True):
    """The loss and squared norms of one step; null where not recorded."""

    loss: float | None = None
    local: float | None = None
    average: float | None = None


class FactsLine(msgspec.Struct, forbid_unknown_fields=True):
    """What is known of a worker."""

    facts: FactsOf
    worker: Rank


class PingLine(msgspec.Struct, forbid_unknown_fields=True):
    """A clock exchange that a worker made."""

    ping: PingOf
    worker: Rank


class NormsLine(msgspec.Struct, forbid_unknown_fields=True):
    """The norms of a worker in a step."""

    norms: NormsOf
    worker: Rank
    step: Count


class NoteLine(msgspec.Struct, forbid_unknown_fields=True):
    """Something that an earlier reader could not use."""

    note: NoteOf
    worker: Rank


OtherLine: TypeAlias = GroupLine | FactsLine | PingLine | NormsLine | NoteLine

_OTHERS: dict[str, type[OtherLine]] = {
    "facts": FactsLine, "ping": PingLine, "norms": NormsLine, "note": NoteLine, "group": GroupLine,
}  # fmt: skip
_EVENT = msgspec.json.Decoder(EventLine)
_DECODERS = {key: msgspec.json.Decoder(own) for key, own in _OTHERS.items()}
_INNER: dict[type, tuple[type[msgspec.Struct], ...]] = {
    FactsLine: (FactsOf,), PingLine: (PingOf,), NormsLine: (NormsOf,), NoteLine: (NoteOf,),
}  # fmt: skip
_UNKNOWN_KEY = re.compile(r"unknown field `(.*?)`(?: - at|$)", re.DOTALL)
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


_KEYED = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Decoded(NamedTuple):
    """A piece: its events, and its other lines with their numbers."""

    events: list[EventLine]
    others: list[tuple[int, OtherLine]]


def decoded(piece: Piece, where: object) -> Decoded:
    """The records of a piece; InputError names the first broken line."""
    try:
        events = _EVENT.decode_lines(piece.content)
    except _BROKEN:
        pass
    else:
        # a record that spans lines, or shares one, is left to the strict walk
        if len(events) == piece.lines:
            return Decoded(events, [])
    events: list[EventLine] = []
    others: list[tuple[int, OtherLine]] = []
    for number, line in walked(piece, where):
        if isinstance(line, EventLine):
            events.append(line)
        else:
            others.append((number, line))
    return Decoded(events, others)


def walked(piece: Piece, where: object) -> Iterator[tuple[int, EventLine | OtherLine]]:
    """Each line with its number, blank ones left out."""
    for number, line in enumerate(piece.content.split(b"\n"), piece.first):
        if line.strip():
            yield number, _one(number, line, where)


def header_of(line: bytes, where: object) -> Header:
    """The header that the first line holds."""
    try:
        header = msgspec.json.decode(line, type=Header)
    except _BROKEN as error:
        raise _broken(1, line, error, Header, where) from error
    if header.paceline_trace != VERSION:
        raise InputError(
            f"is native format {header.paceline_trace}.",
            where=where,
            expected=f"This paceline reads format {VERSION}.",
            cure="Upgrade paceline.",
        )
    return header


def breaks_off(line: bytes) -> bool:
    """True if the line is the beginning of JSON that goes on, as after a kill or a full disk."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        return line != b"" and "truncated" in str(error)
    except (UnicodeDecodeError, RecursionError):
        return False
    return False


def _one(number: int, line: bytes, where: object) -> EventLine | OtherLine:
    try:
        return _EVENT.decode(line)
    except _BROKEN as error:
        wrong = error
    sort = _sort(line)
    if sort is None:
        raise _broken(number, line, wrong, EventLine, where) from wrong
    try:
        return _DECODERS[sort].decode(line)
    except _BROKEN as error:
        raise _broken(number, line, error, _OTHERS[sort], where) from error


def _sort(line: bytes) -> str | None:
    """The key that tells what else than an event the line is, or None."""
    try:
        keys = _KEYED.decode(line)
    except _BROKEN:
        return None
    if "name" in keys or "kind" in keys:
        return None
    return next((key for key in _OTHERS if key in keys), None)


def _broken(
    number: int, line: bytes, error: Exception, shape: type[msgspec.Struct], where: object
) -> InputError:
    unknown = _UNKNOWN_KEY.search(str(error))
    if unknown:
        known = [name for own in (shape, *_INNER.get(shape, ())) for name in keys_of(own)]
        like = nearest(unknown[1], known)
        return InputError(
            f"line {number} has the unknown key {unknown[1]!r}.",
            where=where,
            expected=f"The nearest known key is {like!r}." if like else "",
            cure="Rename or remove it.",
        )
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except RecursionError:
        found = "is nested too deeply"
    except _BROKEN as broken:
        found = f"is not JSON ({broken})"
    else:
        found = f"cannot be used ({error})"
    return InputError(
        f"line {number} {found}.", where=where, cure="Correct the line, or record again."
    )


def keys_of(shape: type[msgspec.Struct]) -> tuple[str, ...]:
    """The keys that a sort of line may have."""
    return tuple(field.name for field in msgspec.structs.fields(shape))
