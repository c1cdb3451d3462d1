"""Which spans of a lane lie inside which, found without walking the events one by one.

Times are first unrolled: the lanes (and steps) of a worker are laid one after the other on a single
axis, so that spans of two lanes can never touch. Sorted by start, longest first, a span is
outermost if it starts where all spans before it have ended.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paceline.model import I64, ModelError

Mask: TypeAlias = npt.NDArray[np.bool_]

_LONGEST = 2.0**61  # ns of all lanes in all steps, one after the other
DEEPEST = 128  # calls in calls; beyond it a span is part of the one around it


def shifts(start: I64, end: I64, track: I64) -> I64:
    """What to add to the times of each track (a lane in a step) to lay them one after another."""
    tracks = int(track.max(initial=-1)) + 1
    first = np.full(tracks, np.iinfo(np.int64).max)
    np.minimum.at(first, track, start)
    last = np.full(tracks, np.iinfo(np.int64).min)
    np.maximum.at(last, track, end)
    used = first <= last
    room = np.where(used, last - np.where(used, first, 0), 0) + 1
    if float(room.sum(dtype=np.float64)) > _LONGEST:
        raise ModelError(
            f"the lanes of one worker span {room.max() / 3600e9:,.0f} hours in each of many steps.",
            expected="Times of a worker are nanoseconds on one clock.",
            cure="Check the unit of the times, and record again.",
        )
    return np.cumsum(room) - room - np.where(used, first, 0)


def by_start(start: I64, end: I64) -> I64:
    """The order in which a span comes after all spans around it."""
    return np.lexsort((-end, start))


def outermost(start: I64, end: I64) -> Mask:
    """Which of the spans, in that order, lie in no other; one that begins inside another does."""
    out = np.ones(len(start), dtype=np.bool_)
    out[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    if (end > end[parents(out)]).any():
        return _one_after_another(start, end)
    return out


def _one_after_another(start: I64, end: I64) -> Mask:
    """The first span, the first that begins when that has ended, and so on: where spans cross.

    Pointers to the next span are doubled, so that a long chain takes few strides.
    """
    count = len(start)
    following = np.maximum(np.searchsorted(start, end), np.arange(count) + 1)
    following = np.append(following, count)
    chain = np.zeros(1, dtype=np.int64)
    while chain[-1] < count:
        chain = np.concatenate([chain, following[chain]])
        following = following[following]
    out = np.zeros(count + 1, dtype=np.bool_)
    out[chain] = True
    return out[:-1]


def parents(top: Mask) -> I64:
    """For each span in that order, the outermost one that it lies in (itself, if it is one)."""
    return np.maximum.accumulate(np.where(top, np.arange(len(top)), 0))


@dataclass(frozen=True, slots=True)
class Tree:
    """Who lies in whom, in order of start: `size` counts the spans inside, itself included.

    `rows` are the spans that found a place; those deeper than DEEPEST are left to their ancestor.
    """

    rows: I64
    parent: I64
    depth: I64
    size: I64
    end: I64


def tree(start: I64, end: I64) -> Tree:
    """The nesting of spans sorted by start; a span that outlasts its parent is cut at its end."""
    end = end.copy()
    parent = np.full(len(start), -1, dtype=np.int64)
    depth = np.full(len(start), -1, dtype=np.int64)
    rest = np.arange(len(start))
    level = 0
    while len(rest) and level < DEEPEST:
        top = outermost(start[rest], end[rest])
        inside = rest[~top]
        parent[inside] = rest[parents(top)][~top]
        end[inside] = np.minimum(end[inside], end[parent[inside]])
        depth[rest[top]] = level
        rest, level = inside, level + 1
    rows = np.flatnonzero(depth >= 0)
    place = np.full(len(start) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    depth = depth[rows]
    return Tree(rows, place[parent[rows]], depth, _sizes(depth, level), end[rows])


def _sizes(depth: I64, levels: int) -> I64:
    """How many spans follow before one at the same depth or above."""
    size = np.empty(len(depth), dtype=np.int64)
    for level in range(levels):
        own = np.flatnonzero(depth == level)
        ends = np.append(np.flatnonzero(depth <= level), len(depth))
        size[own] = ends[np.searchsorted(ends, own, side="right")] - own
    return size
