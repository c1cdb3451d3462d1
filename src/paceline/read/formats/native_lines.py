"""Native traces as JSON lines: a header, then one event a line.

The format in which anyone can bring operations; docs/formats/native.md specifies it. Pieces of
whole lines are decoded and turned into columns one after the other, so memory beside the columns
stays bounded. A last line that breaks off is left out and noted; any other bad line is an error.
"""

from collections.abc import Iterable
from itertools import chain, islice
from operator import attrgetter

import numpy as np

from paceline.model import I32, I64, UNKNOWN, Note, Trace
from paceline.read.lines import Piece, pieces
from paceline.read.native_declared import Declared
from paceline.read.native_line import (
    EventLine,
    Header,
    breaks_off,
    decoded,
    header_of,
    walked,
)
from paceline.read.native_rows import NUMBERS, TEXTS, TIMES, After, Label, Rows
from paceline.read.native_traces import traces
from paceline.read.opened import Opened

NAME: str = "native"

_NUMBERS_OF = attrgetter(*NUMBERS)
_TEXTS_OF = attrgetter(*TEXTS)
_AFTER_OF = attrgetter("after")
_UNKNOWNS = [UNKNOWN if name in TIMES else -1 for name in NUMBERS]
_BOM = b"\xef\xbb\xbf"


def sniff(opened: Opened) -> bool:
    """True if the first line is a JSON object that mentions `paceline_trace`."""
    first = opened.head.removeprefix(_BOM).lstrip().partition(b"\n")[0]
    return first.startswith(b"{") and b'"paceline_trace"' in first


def read(opened: Opened) -> tuple[Trace, ...]:
    """The traces of all workers of the file."""
    stream = pieces(opened)
    header, rest = _headed(next(stream, Piece(1, 1, b"")), opened)
    rows, declared = Rows(header, opened.path), Declared(header, opened.path)
    for piece in chain([rest], stream):
        if not piece.content.endswith(b"\n") and breaks_off(piece.content.strip()):
            _note_cut(rows, declared, piece.first)
        else:
            _take(rows, declared, piece)
    return traces(rows, declared, opened.source(header.source or "native"))


def _headed(piece: Piece, opened: Opened) -> tuple[Header, Piece]:
    """The header on the first line that is not blank, and what follows it."""
    content = piece.content.removeprefix(_BOM)
    body = content.lstrip()
    skipped = content.count(b"\n", 0, len(content) - len(body)) + 1
    line, _, rest = body.partition(b"\n")
    header = header_of(line, opened.path)
    return header, Piece(piece.first + skipped, piece.lines - skipped, rest)


def _take(rows: Rows, declared: Declared, piece: Piece) -> None:
    events, others = decoded(piece, rows.where)
    for number, line in others:
        declared.add(number, line)
    if not events:
        return

    def label(index: int) -> str:
        lines = (n for n, line in walked(piece, rows.where) if isinstance(line, EventLine))
        return f"line {next(islice(lines, index, None))}"

    rows.add(
        _numbers(events, label, rows), _texts(events, rows), _after(events, label, rows), label
    )


def _numbers(events: list[EventLine], label: Label, rows: Rows) -> dict[str, I64]:
    try:
        flat = _flat(events)
    except OverflowError as error:
        large = next(i for i, event in enumerate(events) if _too_large(_NUMBERS_OF(event)))
        raise rows.wrong(label(large), "has a number beyond 64 bits", "") from error
    return dict(zip(NUMBERS, flat.reshape(-1, len(NUMBERS)).T, strict=True))


def _flat(events: list[EventLine]) -> I64:
    size = len(events) * len(NUMBERS)
    try:
        return np.fromiter(chain.from_iterable(map(_NUMBERS_OF, events)), np.int64, size)
    except TypeError:  # a null somewhere
        full = (
            unknown if value is None else value
            for event in events
            for value, unknown in zip(_NUMBERS_OF(event), _UNKNOWNS, strict=True)
        )
        return np.fromiter(full, np.int64, size)


def _texts(events: list[EventLine], rows: Rows) -> dict[str, I32]:
    return {
        name: np.fromiter(map(rows.tables[name].__getitem__, column), np.int32, len(events))
        for name, column in zip(TEXTS, zip(*map(_TEXTS_OF, events), strict=True), strict=True)
    }


def _after(events: list[EventLine], label: Label, rows: Rows) -> After | None:
    lists = [pairs or () for pairs in map(_AFTER_OF, events)]
    if not any(lists):
        return None
    lengths = np.array(list(map(len, lists)), np.int64)
    try:
        pairs = np.array(list(chain.from_iterable(lists)), np.int64)
    except OverflowError as error:
        large = next(i for i, own in enumerate(lists) if any(map(_too_large, own)))
        raise rows.wrong(label(large), "has a number beyond 64 bits", "") from error
    return After(lengths, pairs[:, 0], pairs[:, 1])


def _too_large(values: Iterable[int | None]) -> bool:
    return any(value is not None and not -(2**63) <= value < 2**63 for value in values)


def _note_cut(rows: Rows, declared: Declared, number: int) -> None:
    """Notes the broken last line at the worker whose event stands before it."""
    text = f"Line {number}, the last one, breaks off and is left out."
    rows.cut = True
    known = rows.last_worker()
    worker = min(declared.workers(), default=None) if known is None else known
    if worker is not None:
        declared.notes[worker].append(Note(code="truncated", text=text, worker=worker))
