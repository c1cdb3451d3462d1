"""Joins of columns by key and by time, all at once.

Each takes rows in any order and answers with positions in the first columns, -1 where there is
none.
"""

import numpy as np

from paceline.model import I64

_ROOM = 2**62


def matching(keys: I64, wanted: I64) -> I64:
    """For each wanted key the last position at which it stands; negative keys match nothing."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted, side="right") - 1
    found = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (wanted >= 0) & (keys[found] == wanted), found, -1)


def latest(group: I64, time: I64, wanted_group: I64, wanted_time: I64) -> I64:
    """For each wanted row the last position of the same group at or before its time.

    Groups are not negative. Of equal times the last position counts.
    """
    if not len(group) or not len(wanted_group):
        return np.full(len(wanted_group), -1, dtype=np.int64)
    pairs = [_from_zero(group, wanted_group), _from_zero(time, wanted_time)]
    for at in (1, 0):
        if _range(*pairs[0]) * _range(*pairs[1]) > _ROOM:
            pairs[at] = _ranks(*pairs[at])
    span = _range(*pairs[1])
    key, wanted = (pairs[0][side] * span + pairs[1][side] for side in (0, 1))
    order = np.argsort(key, kind="stable")
    at = np.searchsorted(key[order], wanted, side="right") - 1
    found = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (group[found] == wanted_group), found, -1)


def _from_zero(one: I64, other: I64) -> tuple[I64, I64]:
    lowest = min(one.min(), other.min())
    return one - lowest, other - lowest


def _range(one: I64, other: I64) -> int:
    return int(max(one.max(), other.max())) + 1


def _ranks(one: I64, other: I64) -> tuple[I64, I64]:
    """Ranks instead of values: no more than there are rows."""
    ranks = np.unique(np.concatenate([one, other]))
    return np.searchsorted(ranks, one), np.searchsorted(ranks, other)
