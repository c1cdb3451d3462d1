"""Damage to Parquet files that leaves them well formed: wrong columns, types, numbers and metadata.

Flipped bits seldom get past the footer of a Parquet file; this does.
"""

import io
import random
from collections.abc import Callable
from typing import Any

WILD = (0, -1, 1, 2**31, -(2**31) - 1, 2**62, 2**63 - 1, -(2**63), None)
REALS = (float("nan"), float("inf"), -float("inf"), 1e308, -0.0, 0.5, 1e18, None)
TEXTS = ("", "x", "\x1b[31m", "\x00", "é架", "a" * 5000, "NaN", None)


def column_harmed(
    body: bytes, rng: random.Random, text: Callable[[bytes, random.Random], bytes]
) -> bytes:
    """A table with one thing wrong; `text` damages its metadata. The body itself if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table: Any = pq.read_table(io.BytesIO(body))
    except (pa.ArrowException, OSError):
        return body
    names = table.column_names
    at = rng.randrange(len(names))
    name, rows = names[at], table.num_rows
    what = rng.choice(("drop", "rename", "type", "wild", "one", "rows", "twice", "meta", "meta"))
    if what == "drop":
        table = table.drop_columns([name])
    elif what == "rename":
        table = table.rename_columns(
            [rng.choice((n, f"{n}s", "")) if n == name else n for n in names]
        )
    elif what == "type":
        kinds = (
            (WILD, pa.int64()), (REALS, pa.float64()), (TEXTS, pa.string()), ((True,), pa.bool_()),
            (([1], None), pa.list_(pa.int64())), ((b"x",), pa.binary()), ((None,), pa.null()),
            ((1, 255), pa.uint8()), ((0, 2**64 - 1), pa.uint64()), ((0, 1), pa.timestamp("ns")),
        )  # fmt: skip
        values, type = rng.choice(kinds)
        other = pa.array([rng.choice(values) for _ in range(rows)], type)
        table = table.set_column(at, name, other)
    elif what in ("wild", "one"):
        table = table.set_column(at, name, _wild(table.column(name), rng, often=what == "wild"))
    elif what == "rows":
        order = (
            [rng.randrange(rows) for _ in range(rng.choice((0, 1, rows, 2 * rows)))] if rows else []
        )
        table = table.take(pa.array(order, pa.int64()))
    elif what == "twice":
        table = table.append_column(name, table.column(name))
    else:
        meta = {key: text(value, rng) for key, value in (table.schema.metadata or {}).items()}
        table = table.replace_schema_metadata(meta)
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _wild(column: Any, rng: random.Random, *, often: bool) -> Any:
    """The column with one or all values replaced by wild ones of its type, where that can be."""
    import pyarrow as pa

    values: list[Any] = column.to_pylist()
    words = WILD if pa.types.is_integer(column.type) else TEXTS
    words = REALS if pa.types.is_floating(column.type) else words
    words = ([], [[0, 0]], [[9, 9]], [[0, -1]], [[2**40, 2**40]]) if values and isinstance(
        next((v for v in values if v is not None), None), list) else words  # fmt: skip
    for at in range(len(values)) if often else [rng.randrange(len(values))] if values else []:
        values[at] = rng.choice(words)
    try:
        return pa.array(values, column.type)
    except (pa.ArrowException, OverflowError, TypeError):
        return column
