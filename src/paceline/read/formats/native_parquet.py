"""Native traces as Parquet: the columns of the JSON lines, the head in the file's metadata.

The metadata key `paceline_trace` holds the lines that no column can: the header and, if there are
any, declarations of groups, facts, pings and norms. docs/formats/native.md specifies it.
"""

from typing import Any

import numpy as np

from paceline.model import I32, I64, UNKNOWN, InputError, Trace
from paceline.read.lines import Piece
from paceline.read.native_declared import Declared
from paceline.read.native_line import EventLine, decoded, header_of, keys_of
from paceline.read.native_rows import NUMBERS, TEXTS, TIMES, After, Rows
from paceline.read.native_traces import traces
from paceline.read.nearest import nearest
from paceline.read.opened import Opened
from paceline.read.parquet import ParquetTable, footer

NAME: str = "native-parquet"

_KEY = b"paceline_trace"
_NEEDED = ("worker", "name", "kind")


def sniff(opened: Opened) -> bool:
    """True if the file is Parquet with a native head."""
    return _KEY in footer(opened)


def read(opened: Opened) -> tuple[Trace, ...]:
    """The traces of all workers of the file."""
    table = ParquetTable(opened, TEXTS)
    head = table.metadata.get(_KEY, b"")
    line, _, rest = head.partition(b"\n")
    header = header_of(line, opened.path)
    rows, declared = Rows(header, opened.path), Declared(header, opened.path)
    events, others = decoded(Piece(2, rest.count(b"\n") + 1, rest), opened.path)
    if events:
        raise InputError(
            "has events in its metadata.", where=opened.path, expected="They stand in columns."
        )
    for number, other in others:
        declared.add(number, other)
    _check_columns(table.names, header.clock is not None, opened)
    for first, batch in table.batches():
        _take(rows, table, first, batch)
    return traces(rows, declared, opened.source(header.source or "native"))


def _check_columns(names: list[str], timed: bool, opened: Opened) -> None:
    known = keys_of(EventLine)
    for name in names:
        if name not in known:
            like = nearest(name, known)
            raise InputError(
                f"has the unknown column {name!r}.",
                where=opened.path,
                expected=f"The nearest known column is {like!r}." if like else "",
                cure="Rename it or leave it out.",
            )
    for name in (*_NEEDED, "start_ns") if timed else _NEEDED:
        if name not in names:
            raise InputError(
                f"has no column {name!r}.",
                where=opened.path,
                expected=f"A native trace has {', '.join(_NEEDED)} and, unless its clock is null, "
                "start_ns.",
            )


def _take(rows: Rows, table: ParquetTable, first: int, batch: Any) -> None:
    none = np.zeros(batch.num_rows, np.int64)
    numbers: dict[str, I64] = {}
    for name in NUMBERS:
        unknown = UNKNOWN if name in TIMES else -1
        here = name in table.names
        numbers[name] = table.numbers(batch, name, unknown) if here else none + unknown
    texts: dict[str, I32] = {}
    for name in TEXTS:
        here = name in table.names
        place = rows.tables[name].__getitem__
        texts[name] = table.texts(batch, name, place) if here else (none - 1).astype(np.int32)
    after: After | None = None
    if "after" in table.names:
        lengths, pairs = table.pairs(batch, "after")
        after = After(lengths, pairs[:, 0], pairs[:, 1])
    rows.add(numbers, texts, after, lambda index: f"row {first + index}")
