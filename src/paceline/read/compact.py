"""A column of positions in a table of texts, cut down to the texts that it uses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def compact(
    column: npt.NDArray[Any], texts: Sequence[str]
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """The column and its table cut to the texts in use, in the order of first use."""
    table: Sequence[str] = texts
    if len(table) > 2 * len(column):  # a small worker among many: look only at its own texts
        small, inverse = np.unique(column, return_inverse=True)
        known = small >= 0
        here: list[int] = small[known].tolist()
        table = [table[at] for at in here]
        column = (inverse - np.count_nonzero(~known)).astype(column.dtype)
    firsts = np.full(len(table) + 1, len(column), np.int64)
    np.minimum.at(firsts, column, np.arange(len(column)))  # -1 falls into the last place
    count = np.count_nonzero(firsts[:-1] < len(column))
    used: list[int] = np.argsort(firsts[:-1], kind="stable")[:count].tolist()
    places = np.full(len(table) + 1, -1, column.dtype)
    places[used] = np.arange(len(used))
    return places[column], tuple(table[at] for at in used)
