"""A rule of validity: one sentence, and a function that finds who breaks it.

Beside it the few checks that rules of several nouns share.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt

from paceline.model.columns import dtypes_of

Noun = TypeVar("Noun")


@dataclass(frozen=True, slots=True)
class Rule(Generic[Noun]):
    """A sentence that is true of every valid noun, and who breaks it."""

    says: str
    offenders: Callable[[Noun], Iterable[str]]


def rows(noun: str, bad: npt.NDArray[np.bool_]) -> list[str]:
    """Up to four rows of a column mask, named as people count them."""
    return [f"{noun} {index}" for index in np.flatnonzero(bad)[:4]]


def within(noun: str, table: str, column: str, lowest: int = -1) -> Callable[[Any], Iterable[str]]:
    """Finds rows whose `column` does not point into `table`."""

    def offenders(it: Any) -> list[str]:
        values = getattr(it, column)
        return rows(noun, (values < lowest) | (values >= len(getattr(it, table))))

    return offenders


def lengths(noun: object, count: int, ragged: tuple[str, ...]) -> list[str]:
    """Finds columns that are not `count` long; ragged ones are left out."""
    return [
        f"column {name}"
        for name in dtypes_of(type(noun))
        if name not in ragged and len(getattr(noun, name)) != count
    ]


def chain(noun: Any, *targets: str) -> list[str]:
    """Finds dependencies that do not lie one row after the other."""
    starts, count = noun.after_from, len(noun)
    ends = len(starts) == count + 1 and starts[0] == 0
    ends = ends and all(starts[-1] == len(getattr(noun, name)) for name in targets)
    # compared, not subtracted: a difference of wild numbers wraps around
    return [] if ends and (starts[1:] >= starts[:-1]).all() else ["after_from"]


def no_rank(rank: int) -> bool:
    """True for a number that cannot be a rank: ranks are stored in 32 bits."""
    return not 0 <= rank < 2**31


def endless(record: object, name: str) -> list[str]:
    """Finds figures inside a record that are infinite or no number: files cannot hold them."""
    if isinstance(record, float):
        return [] if math.isfinite(record) else [name]
    if isinstance(record, msgspec.Struct):
        inside = ((field, getattr(record, field)) for field in record.__struct_fields__)
    elif isinstance(record, tuple):
        inside = enumerate(cast(tuple[object, ...], record))
    else:
        return []
    return [found for key, part in inside for found in endless(part, f"{name}.{key}")]


def outside(values: npt.NDArray[Any], limit: int) -> bool:
    """True if any value is no position in a table of `limit` rows."""
    return bool(((values < 0) | (values >= limit)).any())
