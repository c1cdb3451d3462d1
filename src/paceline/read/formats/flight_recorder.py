"""Dumps of PyTorch's flight recorder, JSON or pickle: which collectives a worker called, and when.

The recorder keeps group and sequence of every call, which profiles of gloo lack and older ones of
NCCL spell differently. The pickle, which its debug files hold, is read as data and never run.
docs/formats/flight-recorder.md tells what the times mean.
"""

import re
from collections.abc import Iterable

import msgspec

from paceline.model import Facts, InputError, Kind, Note, Trace, TraceBuilder
from paceline.read.flight_entry import SKIPPED, Entry, PgConfig
from paceline.read.opened import Opened
from paceline.read.pickled import data_of
from paceline.read.pieces import Pieces
from paceline.read.typed_elements import TypedElements

NAME: str = "flight-recorder"

_LARGEST = 256 * 2**20  # bytes of a pickle; a recorder of 20,000 calls dumps about 20 MB
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_PICKLED = (b"profiling_name", b"collective_seq_id", b"pg_config", b"nccl_comm_state")
_JSON = re.compile(rb"\s*\{")
_MARKS = (b'"comm_lib_version"', b'"profiling_name"', b'"nccl_comm_state"')
_KEPT = frozenset({"pg_config", "rank"})
_MOST_RANKS = 10**6
_RANKS = re.compile(r"\[\s*(?:\d{1,7}\s*(?:,\s*\d{1,7}\s*)*)\]", re.ASCII)


class _Dump(msgspec.Struct):
    """What the pickle and the JSON hold alike."""

    entries: list[Entry] | None = None
    pg_config: dict[str, PgConfig] | None = None
    rank: int | None = None


def sniff(opened: Opened) -> bool:
    """True for a pickle or JSON with the recorder's keys."""
    head = opened.head
    if _PICKLE.match(head):
        return any(mark in head for mark in _PICKLED)
    return (
        bool(_JSON.match(head))
        and any(mark in head for mark in _MARKS)
        and (b'"traceEvents"' not in head)
    )


def read(opened: Opened) -> tuple[Trace, ...]:
    """The calls of the worker that dumped the file."""
    dump, broken_off = _pickle(opened) if _PICKLE.match(opened.head) else _json(opened)
    if dump.entries is None and broken_off is None:
        raise InputError(
            "is a flight recorder's dump without entries.",
            where=opened.path,
            cure="Dump it with includeCollectives=True.",
        )
    builder = TraceBuilder()
    entries = dump.entries or []
    members = {name: _members(config) for name, config in (dump.pg_config or {}).items()}
    for entry in entries:
        if entry.word() not in SKIPPED:
            _add(builder, entry, members)
    rank = dump.rank if dump.rank is not None and 0 <= dump.rank < _MOST_RANKS else -1
    everyone = next((members.get(e.group() or "") for e in entries if e.is_default()), None)
    return (
        builder.trace(
            rank,
            clock="unix",
            facts=Facts(
                backend=next((e.backend() for e in entries if e.backend()), None),
                workers=len(everyone) if everyone else None,
            ),
            notes=tuple(_notes(entries, broken_off)),
            sources=(opened.source(NAME),),
        ),
    )


def _pickle(opened: Opened) -> tuple[_Dump, None]:
    raw = data_of(opened.whole(_LARGEST), opened.path, opened.caps.depth)
    try:
        return msgspec.convert(raw, _Dump), None
    except msgspec.ValidationError as error:
        raise _wrong(opened, error) from error


def _json(opened: Opened) -> tuple[_Dump, int | None]:
    elements = TypedElements(opened, Entry, "entry")
    pieces = Pieces(opened, "entries", _KEPT, elements)
    entries: list[Entry] = []
    began = 0
    for batch in pieces:
        if elements.starts != began:  # of a key given twice the last value counts
            began, entries = elements.starts, []
        entries += batch
    head = b"{" + b",".join(b'"%s":%s' % (k.encode(), v) for k, v in pieces.fields.items()) + b"}"
    try:
        dump = msgspec.json.decode(head, type=_Dump)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _wrong(opened, error) from error
    dump.entries = entries if elements.starts else None
    return dump, pieces.broken_off


def _wrong(opened: Opened, error: Exception) -> InputError:
    return InputError(
        f"is no flight recorder's dump that can be used ({error}).",
        where=opened.path,
        cure="Dump it again.",
    )


def _members(config: PgConfig) -> tuple[int, ...] | None:
    """The ranks of a group in its order, None where the dump does not tell them."""
    ranks = config.ranks
    if isinstance(ranks, str):
        ranks = msgspec.json.decode(ranks, type=list[int]) if _RANKS.fullmatch(ranks) else None
    if not ranks or len(set(ranks)) != len(ranks):
        return None
    return tuple(ranks) if all(0 <= rank < _MOST_RANKS for rank in ranks) else None


def _add(builder: TraceBuilder, entry: Entry, members: dict[str, tuple[int, ...] | None]) -> None:
    name = entry.group()
    ranks = members.get(name) if name is not None else None
    peer = entry.other() if entry.kind() is not Kind.COLLECTIVE else -1
    if ranks is not None:
        peer = ranks[peer] if 0 <= peer < len(ranks) else -1
    elif not entry.is_default():  # positions in a group of unknown members tell nothing
        peer = -1
    builder.add(
        entry.word(),
        entry.kind(),
        "flight recorder",
        entry.start_ns(),
        entry.duration_ns(),
        size_bytes=entry.size_bytes(),
        group=-1 if name is None else builder.group(name, ranks),
        sequence=entry.sequence(),
        peer=peer,
    )


def _notes(entries: Iterable[Entry], broken_off: int | None) -> Iterable[Note]:
    """What the dump leaves open."""
    kept = [entry for entry in entries if entry.word() not in SKIPPED]
    if broken_off is not None:
        text = f"The file breaks off at byte {broken_off:,}; {len(kept):,} calls were kept."
        yield Note(code="truncated", text=text)
    open_now = [entry.state for entry in kept if entry.unfinished()]
    if open_now:
        text = (
            f"Calls had not ended when the recorder was dumped: {open_now.count('started')} "
            f"started, {open_now.count('scheduled')} scheduled."
        )
        yield Note(code="unfinished", text=text, count=len(open_now))
    noticed = sum(entry.noticed() for entry in kept)
    if noticed:
        text = "Calls ended some time before the watchdog noticed; their durations are too long."
        yield Note(code="ends-noticed", text=text, count=noticed)
    if not kept:
        yield Note(code="empty", text="The recorder holds no calls.")
