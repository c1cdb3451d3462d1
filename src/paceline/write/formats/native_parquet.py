"""Traces as native Parquet: the same columns as JSON lines, the head in the file's metadata."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.model import UNKNOWN, InputError, Kind, Phase, Trace
from paceline.write.native_head import head

ENDINGS: tuple[str, ...] = (".parquet",)

_ROWS = 1 << 18  # of one row group
_SMALL = ("peer", "bucket", "chunk", "round")
_LARGE = ("step", "start_ns", "duration_ns", "size_bytes", "sequence", "record")


def write(traces: Sequence[Trace], path: Path, part: Path) -> None:
    """Writes `part`, which will become `path`."""
    try:
        pa: Any = importlib.import_module("pyarrow")  # no types: it brings no stubs
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(
            "cannot be written without pyarrow.",
            where=path,
            cure="Install it: pip install 'paceline[parquet]'.",
        ) from error
    schema = _schema(pa).with_metadata({"paceline_trace": head(traces)})
    packing = {"compression": "zstd", "write_page_checksum": True}
    with parquet.ParquetWriter(part, schema, **packing) as writer:
        for trace in traces:
            for first in range(0, len(trace), _ROWS):
                writer.write_table(_table(pa, schema, trace, slice(first, first + _ROWS)))


def _schema(pa: Any) -> Any:
    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        {
            "worker": pa.int32(),
            "name": text,
            "kind": text,
            "phase": text,
            "lane": text,
            **dict.fromkeys(_LARGE, pa.int64()),
            **dict.fromkeys(_SMALL, pa.int32()),
            "layer": text,
            "group": text,
            "algorithm": text,
            "after": pa.list_(pa.list_(pa.int64())),
        }
    )


def _table(pa: Any, schema: Any, trace: Trace, own: slice) -> Any:
    kinds = [kind.name.lower() for kind in Kind]
    phases = [phase.name.lower() for phase in Phase]
    groups = [group.name for group in trace.groups]
    texts = {
        "name": (trace.name, trace.names),
        "kind": (trace.kind, kinds),
        "phase": (trace.phase, phases),
        "lane": (trace.lane, trace.lanes),
        "layer": (trace.layer, trace.layers),
        "group": (trace.group, groups),
        "algorithm": (trace.algorithm, trace.algorithms),
    }
    columns: dict[str, Any] = {"worker": np.full(len(trace.name[own]), trace.worker, np.int32)}
    for name, (column, table) in texts.items():
        columns[name] = _text(pa, column[own], table)
    for name in (*_LARGE, *_SMALL):
        column: npt.NDArray[Any] = getattr(trace, name)[own]
        unknown = UNKNOWN if name in ("start_ns", "duration_ns") else -1
        columns[name] = pa.array(column, mask=column == unknown)
    columns["after"] = _after(pa, trace, own)
    return pa.table(columns, schema=schema)


def _text(pa: Any, column: npt.NDArray[Any], table: Sequence[str]) -> Any:
    positions = pa.array(column.astype(np.int32), mask=column < 0)
    return pa.DictionaryArray.from_arrays(positions, pa.array(table, pa.string()))


def _after(pa: Any, trace: Trace, own: slice) -> Any:
    bounds = trace.after_from[own.start : min(own.stop, len(trace)) + 1]
    pairs = slice(int(bounds[0]), int(bounds[-1]))
    flat = np.column_stack((trace.after_worker[pairs], trace.after_index[pairs])).ravel()
    pairs_at = np.arange(0, len(flat) + 1, 2, dtype=np.int32)
    inner = pa.ListArray.from_arrays(pairs_at, pa.array(flat))
    return pa.ListArray.from_arrays((bounds - bounds[0]).astype(np.int32), inner)
