"""Columns for the machine: what Trace, Graph and the other large nouns have in common.

A noun of columns is a frozen dataclass whose array fields have one declared dtype each, are not
writable, and compare by content. In files a short column is a list that reads well in a diff, a
long one is base64 of its little-endian bytes.
"""

import base64
import binascii
import dataclasses
from typing import Any, TypeAlias, get_type_hints

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
I16: TypeAlias = npt.NDArray[np.int16]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
F64: TypeAlias = npt.NDArray[np.float64]

LISTED = 4096  # longest column that is written as a list of numbers
UNKNOWN = np.iinfo(np.int64).min  # "not known" inside a column of times

_DTYPES: dict[type, dict[str, np.dtype[Any]]] = {}


def dtypes_of(cls: type) -> dict[str, np.dtype[Any]]:
    """The dtype of each array field of a noun of columns."""
    if cls not in _DTYPES:
        hints = get_type_hints(cls)
        _DTYPES[cls] = {name: alias_dtype(hint) for name, hint in hints.items() if is_column(hint)}
    return _DTYPES[cls]


def is_column(hint: object) -> bool:
    """True for `NDArray[...]` annotations."""
    return getattr(hint, "__origin__", None) is np.ndarray


def alias_dtype(hint: Any) -> np.dtype[Any]:
    """The dtype inside `NDArray[dtype]`."""
    return np.dtype(hint.__args__[1].__args__[0])


class Columns:
    """What nouns of columns share; subclasses are frozen dataclasses with `eq=False`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, dtype in dtypes_of(type(self)).items():
            array = _cast(getattr(self, name), dtype, name)
            if array.flags.writeable:
                array = array.view()
                array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            mine: Any = getattr(self, field.name)
            theirs: Any = getattr(other, field.name)
            if field.name in dtypes_of(type(self)):
                # NaN is how a float column says "not known", and equals itself here
                if not np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"):
                    return False
            elif mine != theirs:
                return False
        return True

    __hash__ = None  # type: ignore[assignment]


def _cast(value: Any, dtype: np.dtype[Any], name: str) -> npt.NDArray[Any]:
    given: npt.NDArray[Any] = np.asarray(value)
    array = np.ascontiguousarray(given, dtype=dtype)
    if given.dtype != dtype and not np.array_equal(given, array, equal_nan=dtype.kind == "f"):
        raise ValueError(f"column {name} does not fit {dtype}")
    return array


def encoded(array: npt.NDArray[Any]) -> object:
    """A column as it stands in a file."""
    if array.size <= LISTED and not np.isinf(array).any():  # JSON has no infinity,
        if array.dtype.kind == "f":
            return [None if np.isnan(x) else float(x) for x in array]  # and no NaN
        return array.tolist()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode("ascii")


def decoded(hint: object, value: object) -> npt.NDArray[Any]:
    """The column of a file; raises ValueError for anything else."""
    dtype = alias_dtype(hint)
    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise ValueError("a column is not valid base64") from error
        little = np.frombuffer(raw, dtype=dtype.newbyteorder("<"))
        return little.astype(dtype)
    if isinstance(value, list):
        return _from_list(dtype, value)  # pyright: ignore[reportUnknownArgumentType]
    raise ValueError("a column is neither a list of numbers nor base64 text")


def _from_list(dtype: np.dtype[Any], value: list[Any]) -> npt.NDArray[Any]:
    wanted = (int, float) if dtype.kind == "f" else (int,)
    if dtype.kind == "f":
        value = [np.nan if x is None else x for x in value]
    if any(not isinstance(x, wanted) or isinstance(x, bool) for x in value):
        raise ValueError(f"a column of {dtype} holds something else")
    try:
        return np.array(value, dtype=dtype)
    except OverflowError as error:
        raise ValueError(f"a column of {dtype} holds a number out of range") from error


def chained(lengths: npt.ArrayLike) -> I64:
    """Where each row of a ragged column starts: `[0, n0, n0 + n1, ...]`."""
    counts = np.asarray(lengths, dtype=np.int64)
    out = np.zeros(counts.size + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out
