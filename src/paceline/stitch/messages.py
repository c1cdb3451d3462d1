"""Matches sends to receives: the two ends of a message.

Both ends know the pair (sender, receiver). Keys are used where they hold on both sides: some
frameworks number the messages of each worker for itself, and then equal numbers mean nothing.
Without a key the k-th send of a size meets the k-th receive of that size.
"""

import numpy as np

from paceline.model import I64, Kind
from paceline.stitch.keyed import by_key
from paceline.stitch.meeting import met, packed, runs
from paceline.stitch.order import BOOL, Unkeyed, matched
from paceline.stitch.talk import Talk

_SHARED = 0.8  # least part of the keys both sides could know that must agree


def messages(talk: Talk) -> tuple[I64, BOOL]:
    """The number of each row's message, -1 for unmatched rows, and whether a key found it."""
    number = np.full(len(talk), -1, dtype=np.int64)
    keyed = np.zeros(len(talk), dtype=np.bool_)
    peer = _peers(talk)
    rows = np.flatnonzero(np.isin(talk.kind, (int(Kind.SEND), int(Kind.RECV))) & (peer >= 0))
    if not len(rows):
        return number, keyed
    receives = (talk.kind[rows] == Kind.RECV).astype(np.int64)
    own, other = talk.worker[rows], peer[rows]
    pair = packed(np.where(receives, other, own), np.where(receives, own, other))
    group = _agreed(pair, talk.group[rows])
    size = _agreed(pair, talk.size_bytes[rows])
    line = packed(pair, group)
    key = packed(line, talk.sequence[rows], talk.hop[rows])
    by = _keys_hold(line, key, receives, talk.sequence[rows], size)
    found = np.full(len(rows), -1, dtype=np.int64)

    def unkeyed(mask: BOOL) -> Unkeyed:
        name = packed(talk.hop[rows][mask], size[mask])
        part = rows[mask]
        nothing = np.full(len(part), -1, dtype=np.int64)
        return Unkeyed(
            pair[mask], receives[mask], talk.step[part], name, nothing, talk.end_ns[part]
        )

    found[by] = by_key(key[by], unkeyed(by), np.zeros(int(by.sum()), dtype=np.bool_))
    rest = matched(unkeyed(~by))
    found[~by] = np.where(rest >= 0, rest + found.max() + 1, -1)
    number[rows] = found
    keyed[rows] = by
    return number, keyed


def _peers(talk: Talk) -> I64:
    """The peer of each row; where it is not told, the only worker it can be, or -1."""
    peer = talk.peer.copy()
    workers = np.unique(talk.worker)
    for kind, opposite in ((Kind.SEND, Kind.RECV), (Kind.RECV, Kind.SEND)):
        unknown = (talk.kind == kind) & (talk.peer < 0)
        told = (talk.kind == opposite) & (talk.peer >= 0)
        for worker in np.unique(talk.worker[unknown]):
            partners = np.unique(talk.worker[told & (talk.peer == worker)])
            if len(workers) == 2:
                partners = workers[workers != worker]
            if len(partners) == 1:
                peer[unknown & (talk.worker == worker)] = partners[0]
    return peer


def _agreed(pair: I64, column: I64) -> I64:
    """The column where every row of the pair knows it, -1 where one does not."""
    pairs = runs(pair)
    unknown = np.bincount(pairs.run[column < 0], minlength=len(pairs.counts)) > 0
    return np.where(unknown[pairs.run], -1, column)


def _keys_hold(line: I64, key: I64, receives: I64, sequence: I64, size: I64) -> BOOL:
    """Rows with a sequence whose numbers mean the same on both sides."""
    own = runs(line)
    known = sequence >= 0
    low, high = np.zeros((2, len(own.counts)), dtype=np.int64)
    high += np.iinfo(np.int64).max
    for side in (0, 1):
        mine = known & (receives == side)
        first = np.full(len(own.counts), np.iinfo(np.int64).max)
        last = np.full(len(own.counts), -1)
        np.minimum.at(first, own.run[mine], sequence[mine])
        np.maximum.at(last, own.run[mine], sequence[mine])
        low, high = np.maximum(low, first), np.minimum(high, last)
    both = known & (sequence >= low[own.run]) & (sequence <= high[own.run])
    number = met(packed(key, size), receives, np.zeros(len(key), dtype=np.bool_))
    asked = np.bincount(own.run[both], minlength=len(own.counts))
    agreed = np.bincount(own.run[both & (number >= 0)], minlength=len(own.counts))
    one_sided = high < 0  # no numbers at all on one side
    return known & (~one_sided & (agreed >= _SHARED * asked))[own.run]
