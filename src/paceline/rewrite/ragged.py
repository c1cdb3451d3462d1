"""Ragged columns: rows of different length, as where each row starts and all values in a row.

What dependencies and origins share: rows picked, rows joined, and rows made from pairs.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, chained


def gathered(starts: I64, flat: I32, rows: npt.NDArray[np.integer]) -> tuple[I64, I32]:
    """The ragged column whose row i is row `rows[i]` of this one."""
    counts = starts[1:][rows] - starts[:-1][rows]
    out = chained(counts)
    at = np.arange(out[-1], dtype=np.int64) + np.repeat(starts[:-1][rows] - out[:-1], counts)
    return out, flat[at]


def rows_of(starts: I64) -> I64:
    """The row of each value."""
    return np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def ragged(
    rows: npt.NDArray[np.integer], values: npt.NDArray[np.integer], count: int
) -> tuple[I64, I32]:
    """The ragged column of `count` rows that holds each pair (row, value) once, values rising."""
    pairs = rows.astype(np.int64) << 32 | values.astype(np.int64)
    if (pairs[1:] <= pairs[:-1]).any():
        pairs.sort()
        fresh = np.ones(len(pairs), dtype=bool)
        fresh[1:] = pairs[1:] != pairs[:-1]
        pairs = pairs[fresh]
    counts = np.bincount(pairs >> 32, minlength=count)
    return chained(counts), (pairs & 0xFFFFFFFF).astype(np.int32)


def led_back(outer_from: I64, outer: I32, inner_from: I64, inner: I32) -> tuple[I64, I32]:
    """Each row of `outer`, with every value replaced by that row of `inner`, each value once."""
    starts, flat = gathered(inner_from, inner, outer)
    rows = np.repeat(rows_of(outer_from), np.diff(starts))
    return ragged(rows, flat, len(outer_from) - 1)
