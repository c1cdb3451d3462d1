"""From what one lane did in every step, the one sequence of ops that the steps share.

Steps with equal sequences count together. The most frequent sequence comes first; each other one is
aligned to it, keeping order, and brings in what it has besides. Then what fewer than half of the
steps hold is left out again: a garbage collection is no part of the job's structure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import I64
from paceline.stitch.sequence import aligned

_MERGED = 32  # different sequences that may bring in ops; rarer ones are only aligned
_MOST = 256  # differences between two sequences beyond which they are not one structure


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The keys of a lane's ops, in order; for each step the op of each piece, or -1.

    `left_out` counts pieces without an op; `foreign` counts steps too different to be aligned.
    """

    keys: I64
    places: tuple[I64, ...]
    left_out: int
    foreign: int


def shared(sequences: Sequence[I64]) -> Structure:
    """The structure that at least half of the steps have, item by item."""
    bodies = [sequence.tobytes() for sequence in sequences]
    steps: dict[bytes, list[int]] = {}
    for step, body in enumerate(bodies):
        steps.setdefault(body, []).append(step)
    ranked = sorted(steps, key=lambda body: (-len(steps[body]), steps[body][0]))
    distinct = [sequences[steps[body][0]] for body in ranked]
    counts = np.array([len(steps[body]) for body in ranked])
    keys, found = _merged(distinct)
    present = np.zeros(len(keys), dtype=np.int64)
    for place, count in zip(found, counts, strict=True):
        if place is not None:
            present[place[place >= 0]] += count
    kept = 2 * present >= len(sequences)
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    by_body = {
        body: np.full(len(own), -1, dtype=np.int64) if place is None else number[place]
        for body, own, place in zip(ranked, distinct, found, strict=True)
    }
    places = tuple(by_body[body] for body in bodies)
    return Structure(
        keys=keys[kept],
        places=places,
        left_out=sum(int((place < 0).sum()) for place in places),
        foreign=int(sum(counts[k] for k, place in enumerate(found) if place is None)),
    )


def _merged(distinct: Sequence[I64]) -> tuple[I64, list[I64 | None]]:
    """A sequence that holds all of the most frequent ones, and where each item stands in it."""
    keys = distinct[0]
    found: list[I64 | None] = [np.arange(len(keys))]
    for rank, sequence in enumerate(distinct[1:], start=1):
        place = aligned(keys, sequence, _MOST)
        new = np.empty(0, dtype=np.int64) if place is None else np.flatnonzero(place < 0)
        if place is not None and len(new) and rank < _MERGED:
            # a new item stands before the known one that follows it
            upcoming = np.append(np.where(place >= 0, place, len(keys)), len(keys))
            before = np.minimum.accumulate(upcoming[::-1])[::-1][new]
            moved = np.arange(len(keys)) + np.searchsorted(before, np.arange(len(keys)), "right")
            at = before + np.arange(len(new))
            grown = np.empty(len(keys) + len(new), dtype=np.int64)
            grown[moved], grown[at] = keys, sequence[new]
            lookup = np.append(moved, -1)
            found = [None if old is None else lookup[old] for old in found]
            place = lookup[place]
            place[new] = at
            keys = grown
        found.append(place)
    return keys, found
