"""Matches events by a key that all sides know, such as (group, sequence).

Sequence numbers may start anew (a restart, a second recording), so a key may occur more than once
on a worker: the k-th meets the k-th. Where workers have seen a key unequally often, order and time
decide which of its occurrences belong together.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import I64
from paceline.stitch.meeting import met, packed
from paceline.stitch.order import Unkeyed, equal_counts, matched


def by_key(key: I64, rows: Unkeyed, alone: npt.NDArray[np.bool_]) -> I64:
    """The number of each row's match, -1 for rows that meet nobody."""
    number = np.full(len(key), -1, dtype=np.int64)
    if not len(key):
        return number
    plain = equal_counts(key, rows.slot, key)
    number[plain] = met(key[plain], rows.slot[plain], alone[plain])
    rest = np.flatnonzero(~plain)
    named = packed(key[rest])
    again = matched(
        Unkeyed(
            rows.cluster[rest], rows.slot[rest], rows.step[rest],
            named, np.full(len(rest), -1, dtype=np.int64), rows.end_ns[rest],
        )
    )  # fmt: skip
    number[rest] = np.where(again >= 0, again + int(number.max()) + 1, -1)
    return number
