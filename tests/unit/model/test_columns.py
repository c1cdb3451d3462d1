"""Columns: one dtype each, read only, equal by content, the same in files."""

import base64
from dataclasses import dataclass

import numpy as np
import pytest

from paceline.model.columns import (
    F64,
    I16,
    I32,
    I64,
    LISTED,
    U8,
    UNKNOWN,
    Columns,
    chained,
    decoded,
    dtypes_of,
    encoded,
    is_column,
)

HINTS = {"u1": U8, "i2": I16, "i4": I32, "i8": I64, "f8": F64}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair(Columns):
    a: I32
    b: F64
    name: str = ""


def test_the_fields_that_are_arrays_have_one_dtype_each():
    assert dtypes_of(Pair) == {"a": np.dtype("i4"), "b": np.dtype("f8")}
    assert is_column(I32)
    assert not is_column(str)


def test_lists_become_arrays_that_nobody_writes():
    own = np.array([1, 2], np.int32)
    pair = Pair(a=own, b=[0.5, 1])
    assert pair.a.dtype == np.int32
    assert pair.b.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        pair.a[0] = 3
    own[0] = 7  # what the caller keeps stays writable
    assert own.flags.writeable


@pytest.mark.parametrize("wild", [[2**31], [-(2**31) - 1], [0.5], [-0.5]])
def test_a_column_does_not_lose_digits(wild: list[float]):
    with pytest.raises(ValueError, match="does not fit"):
        Pair(a=np.array(wild), b=[0.0])


def test_columns_are_equal_by_content():
    pair = Pair(a=[1], b=[np.nan])
    assert pair == Pair(a=np.array([1], np.int64), b=[np.nan])
    assert pair != Pair(a=[2], b=[np.nan])
    assert pair != Pair(a=[1], b=[0.0])
    assert pair != Pair(a=[1], b=[np.nan], name="x")
    assert pair != Pair(a=[1, 1], b=[np.nan])
    assert pair != "pair"
    with pytest.raises(TypeError, match="unhashable"):
        hash(pair)


@pytest.mark.parametrize("code", HINTS)
@pytest.mark.parametrize("count", [0, 1, LISTED, LISTED + 1])
def test_a_column_comes_back_from_a_file(code: str, count: int):
    column = (np.arange(count) % 100).astype(code)
    stored = encoded(column)
    assert isinstance(stored, list if count <= LISTED else str)
    back = decoded(HINTS[code], stored)
    assert back.dtype == column.dtype
    assert np.array_equal(back, column)


@pytest.mark.parametrize("count", [3, LISTED + 1])
def test_not_known_and_endless_come_back_too(count: int):
    column = np.zeros(count)
    column[:3] = [np.nan, -0.0, 1e-320]
    assert np.array_equal(decoded(F64, encoded(column)), column, equal_nan=True)
    column[2] = -np.inf
    assert isinstance(encoded(column), str)  # JSON has no infinity
    assert np.array_equal(decoded(F64, encoded(column)), column, equal_nan=True)


def test_a_short_column_reads_well():
    assert encoded(np.array([1, UNKNOWN])) == [1, UNKNOWN]
    assert encoded(np.array([0.5, np.nan])) == [0.5, None]


def test_bytes_of_a_long_column_are_little_endian():
    column = np.arange(LISTED + 1, dtype=">i4")
    assert base64.b64decode(encoded(column))[:8] == b"\0\0\0\0\1\0\0\0"


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (I32, ["1"]), (I32, [1.0]), (I32, [True]), (I32, [None]), (I32, [[1]]), (I32, [2**31]),
        (I32, [-(2**31) - 1]), (I64, [2**63]), (I64, [10**400]), (U8, [-1]), (U8, [256]),
        (F64, ["1"]), (F64, [True]), (F64, [[1.0]]), (F64, [10**400]), (I16, [2**15]),
        (I32, 1), (I32, None), (I32, {}), (F64, 0.5),
        (I32, "AAA"), (I32, "A"), (I32, "AAAA"), (I32, "####"), (I32, "äöü"), (I32, "AA=A"),
        (F64, "AAAAAAA="), (I64, "A" * 12), (I32, "AAAA\nAAAA"),
    ],
)  # fmt: skip
def test_what_is_no_column_is_a_value_error(hint: object, value: object):
    with pytest.raises(ValueError):
        decoded(hint, value)


def test_chained_says_where_rows_start():
    assert chained([2, 0, 3]).tolist() == [0, 2, 2, 5]
    assert chained([]).tolist() == [0]
