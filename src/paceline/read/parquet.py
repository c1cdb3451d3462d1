"""Parquet files that are not to be trusted: refused by what their footer promises, read in batches.

pyarrow comes with the extra `parquet` and is loaded only when such a file is read. Columns of text
stay dictionaries, so that one long text repeated a million times does not fill the memory.
"""

import contextlib
import importlib
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from paceline.model import F64, I32, I64, InputError, show_bytes
from paceline.read.opened import Opened
from paceline.read.parquet_counts import values_promised

MAGIC = b"PAR1"
_BATCH = 1 << 16  # rows
_FOOTER = 1 << 24  # bytes; longer ones are not looked into
_SMALL = 1 << 24  # bytes that any file may ask for, however well it is packed


def footer(opened: Opened) -> bytes:
    """The raw footer, in which names of columns and keys stand as plain text; b"" if no Parquet."""
    if not opened.head.startswith(MAGIC):
        return b""
    try:
        with opened.path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 8))
            last = file.read(8)
            length = int.from_bytes(last[:4], "little")
            if last[4:] != MAGIC or length + 12 > size or length > _FOOTER:
                return b""
            file.seek(size - 8 - length)
            return file.read(length)
    except OSError:
        return b""


class ParquetTable:
    """An opened file: names of its columns, its metadata, and its rows in batches of columns."""

    def __init__(self, opened: Opened, texts: Sequence[str]) -> None:
        self.opened = opened
        try:
            self._pa: Any = importlib.import_module("pyarrow")  # Any: it brings no stubs
            parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            raise InputError(
                "is Parquet, which needs pyarrow.",
                where=opened.path,
                cure="Install it: pip install 'paceline[parquet]'.",
            ) from error
        with self.readable():
            meta: Any = parquet.read_metadata(opened.path)
            schema: Any = meta.schema.to_arrow_schema()
            self.names: list[str] = list(schema.names)
            self.metadata: dict[bytes, bytes] = dict(schema.metadata or {})
            self._check_size(meta)
            self._check_names()
            leaves = {meta.schema.column(at).path for at in range(meta.num_columns)}
            self._file: Any = parquet.ParquetFile(
                opened.path,
                metadata=meta,
                read_dictionary=[name for name in texts if name in leaves],
                pre_buffer=False,
                page_checksum_verification=True,
            )

    @contextlib.contextmanager
    def readable(self) -> Generator[None]:
        """Turns what pyarrow raises on a corrupt file into InputError."""
        try:
            yield
        except (self._pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
            first = str(error).partition("\n")[0]
            raise InputError(
                f"is no Parquet that can be read ({first}).",
                where=self.opened.path,
                cure="Write it again; if it is compressed as a whole, unpack it.",
            ) from error

    def batches(self, names: Sequence[str] | None = None) -> Iterator[tuple[int, Any]]:
        """The rows in order, in batches that come with the number of their first row, from 0."""
        first = 0
        with self.readable():
            for batch in self._file.iter_batches(_BATCH, columns=names, use_threads=False):
                for column in batch.columns:
                    column.validate(full=True)
                yield first, batch
                first += batch.num_rows

    def numbers(self, batch: Any, name: str, unknown: int) -> I64:
        """A column of whole numbers, `unknown` where it has none."""
        column = self._column(batch, name, "whole numbers", self._pa.types.is_integer)
        with self.readable():
            return column.cast(self._pa.int64()).fill_null(unknown).to_numpy(zero_copy_only=False)

    def reals(self, batch: Any, name: str) -> F64:
        """A column of numbers, NaN where it has none."""
        column = self._column(batch, name, "numbers", self._is_number)
        with self.readable():
            return column.cast(self._pa.float64()).to_numpy(zero_copy_only=False)

    def texts(self, batch: Any, name: str, place: Callable[[str | None], int]) -> I32:
        """A column of texts as what `place` says of each, -1 where there is none."""
        column = self._column(batch, name, "texts", self._is_text)
        with self.readable():
            if not self._pa.types.is_dictionary(column.type):
                column = column.cast(self._pa.string()).dictionary_encode()
            table: list[str | None] = column.dictionary.to_pylist()
            places = np.array([*map(place, table), -1], np.int32)
            indices = column.indices.cast(self._pa.int64()).fill_null(-1)
            return places[indices.to_numpy(zero_copy_only=False)]

    def pairs(self, batch: Any, name: str) -> tuple[I64, I64]:
        """A column of lists of pairs of whole numbers: how many pairs each row has, and all."""
        column = self._column(batch, name, "lists of pairs of whole numbers", self._is_pairs)
        if self._pa.types.is_null(column.type):
            return np.zeros(len(column), np.int64), np.zeros((0, 2), np.int64)
        with self.readable():
            lengths = column.value_lengths().fill_null(0).cast(self._pa.int64())
            inner = column.flatten()
            whole = inner.null_count == 0 and not (inner.value_lengths().to_numpy() != 2).any()
            flat = inner.flatten().cast(self._pa.int64())
            if not whole or flat.null_count:
                raise ValueError(f"column {name!r} holds something else than pairs")
            return lengths.to_numpy(zero_copy_only=False), flat.to_numpy().reshape(-1, 2)

    def _column(self, batch: Any, name: str, what: str, fits: Callable[[Any], bool]) -> Any:
        column = batch.column(name)
        if fits(column.type) or self._pa.types.is_null(column.type):
            return column
        raise InputError(
            f"has a column {name!r} of type {column.type}.",
            where=self.opened.path,
            expected=f"It holds {what}.",
            cure="Cast it when writing; in pandas whole numbers with gaps are of type Int64.",
        )

    def _is_number(self, type: Any) -> bool:
        types = self._pa.types
        return types.is_integer(type) or types.is_floating(type)

    def _is_text(self, type: Any) -> bool:
        types = self._pa.types
        inner = type.value_type if types.is_dictionary(type) else type
        return types.is_string(inner) or types.is_large_string(inner)

    def _is_pairs(self, type: Any) -> bool:
        types = self._pa.types
        for _ in range(2):
            if not (types.is_list(type) or types.is_large_list(type)):
                return False
            type = type.value_type
        return types.is_integer(type)

    def _check_names(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise InputError(
                "has two columns of one name.",
                where=self.opened.path,
                cure="Leave one of them out when writing.",
            )

    def _check_size(self, meta: Any) -> None:
        caps = self.opened.caps
        groups = [meta.row_group(at) for at in range(meta.num_row_groups)]
        stored = self.opened.path.stat().st_size
        made = max(
            sum(group.total_byte_size for group in groups),
            8 * values_promised(footer(self.opened)),
            8 * meta.num_rows * meta.num_columns,
        )
        bomb = made > _SMALL and made > caps.ratio * stored
        if made > caps.largest_bytes or bomb:
            limit = f"{caps.ratio} to 1" if bomb else show_bytes(caps.largest_bytes)
            raise InputError(
                f"is larger than paceline reads ({limit}).",
                where=self.opened.path,
                expected="Such a file is taken for a bomb.",
                cure=f"If it is yours, raise the limit with --max-{'ratio' if bomb else 'bytes'}.",
            )
