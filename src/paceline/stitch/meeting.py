"""Numbers the rows that meet: equal key, one row a slot, in order of occurrence.

Rows come in with a key and a slot (the worker of a collective, the side of a message). The k-th
row of a key in one slot meets the k-th row of that key in every other slot.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import I64

_LARGEST = 2**62


def packed(*columns: I64) -> I64:
    """One number a row, not negative, equal exactly where all columns are equal."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    room = 1
    for column in columns:
        values, span = _from_zero(column)
        if room * span >= _LARGEST:
            key, room = _dense(key)
            if room * span >= _LARGEST:
                values, span = _dense(values)
        key = key * span + values
        room *= span
    return key


def _from_zero(column: I64) -> tuple[I64, int]:
    if not len(column):
        return column, 1
    low, high = int(column.min()), int(column.max())
    if high - low >= _LARGEST:
        return _dense(column)
    return column.astype(np.int64) - low, high - low + 1


def _dense(column: I64) -> tuple[I64, int]:
    values, dense = np.unique(column, return_inverse=True)
    return dense.astype(np.int64), len(values)


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows sorted by key: run r is `order[first[r]:first[r + 1]]`; `run` is the run of each row."""

    order: I64
    first: I64
    run: I64

    @property
    def counts(self) -> I64:
        """How many rows each run has."""
        return np.diff(self.first)

    @property
    def heads(self) -> I64:
        """The first row of each run."""
        return self.order[self.first[:-1]]


def runs(key: I64) -> Runs:
    """The runs of equal keys; rows of one run stay in the order they came in."""
    rising = bool((key[1:] >= key[:-1]).all())
    order = np.arange(len(key)) if rising else np.argsort(key, kind="stable")
    ordered = key if rising else key[order]
    new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    first = np.concatenate(([0], new, [len(key)])) if len(key) else np.zeros(1, dtype=np.int64)
    run = np.repeat(np.arange(len(first) - 1), np.diff(first))
    if not rising:
        own, run = run, np.empty(len(key), dtype=np.int64)
        run[order] = own
    return Runs(order, first, run)


def occurrence(*columns: I64) -> I64:
    """How many rows before it, in the order given, agree with each row in all columns."""
    own = runs(packed(*columns))
    out = np.empty(len(own.order), dtype=np.int64)
    out[own.order] = np.arange(len(own.order)) - np.repeat(own.first[:-1], own.counts)
    return out


def met(key: I64, slot: I64, alone: npt.NDArray[np.bool_]) -> I64:
    """The number of each row's match, -1 for a row that meets nobody.

    Matches are numbered from 0 in order of key. A row that is `alone` needs nobody else.
    """
    own = runs(packed(key, occurrence(key, slot)))
    whole = (own.counts > 1) | (np.bincount(own.run[alone], minlength=len(own.counts)) > 0)
    return np.where(whole, np.cumsum(whole) - 1, -1)[own.run]
