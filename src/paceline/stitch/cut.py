"""Cuts nested intervals into pieces that do not overlap; orders those of lanes that do not nest.

Of the nested intervals stay the outermost and those that meet other events. Written as brackets,
each interval opens and closes; every bracket begins a piece, which belongs to the interval that is
innermost from there on. The place of a bracket in the text follows from an interval's rank, depth
and size alone.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I64
from paceline.stitch.intervals import Intervals, Settled
from paceline.stitch.nest import Mask, Tree, outermost, tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Pieces in order: the row of the interval that each belongs to, start and end on its axis."""

    row: I64
    start: I64
    end: I64


def nested(own: Intervals, settled: Settled) -> tuple[Cut, I64]:
    """The pieces of lanes that nest, and the rows that lie inside a message or a collective.

    Those are never cut, since their start is when a worker arrived: what lies inside one and meets
    others goes to a lane of its own.
    """
    kept = np.flatnonzero(outermost(settled.start, settled.end) | own.meets[settled.rows])
    found = tree(settled.start[kept], settled.end[kept])
    inside = _inside(found, own.talks[settled.rows[kept[found.rows]]])
    buried = settled.rows[kept[found.rows[inside]]]
    if inside.any():
        kept = kept[found.rows[~inside]]
        found = tree(settled.start[kept], settled.end[kept])
    kept = kept[found.rows]
    return _bracketed(settled.rows[kept], settled.start[kept], found), buried


def _inside(found: Tree, talks: Mask) -> Mask:
    """Which intervals have one that talks around them."""
    inside = np.zeros(len(talks), dtype=np.bool_)
    for level in range(1, int(found.depth.max(initial=0)) + 1):
        own = np.flatnonzero(found.depth == level)
        around = found.parent[own]
        inside[own] = talks[around] | inside[around]
    return inside


def _bracketed(rows: I64, start: I64, found: Tree) -> Cut:
    count = len(rows)
    rank = np.arange(count)
    behind = rank + found.size
    opens = 2 * rank - found.depth
    closes = opens + 2 * found.size - 1
    # an interval's own time runs to its first child; after a child, to the next or to its own end
    until_child = np.where(found.size > 1, np.append(start[1:], 0), found.end)
    inner = np.flatnonzero(found.parent >= 0)
    follows = np.append(found.parent, -1)[behind[inner]] == found.parent[inner]
    until = np.where(follows, np.append(start, 0)[behind[inner]], found.end[found.parent[inner]])
    text = np.full(2 * count, -1, dtype=np.int64)
    text[opens] = rank
    text[closes[inner]] = count + np.arange(len(inner))
    text = text[text >= 0]
    return Cut(
        row=np.concatenate([rows, rows[found.parent[inner]]])[text],
        start=np.concatenate([start, found.end[inner]])[text],
        end=np.concatenate([until_child, until])[text],
    )


def in_order(own: Intervals, rows: I64, lane: I64) -> Cut:
    """The intervals of lanes that do not nest, in order of their ends; each begins when it may."""
    track = lane[rows] * (int(own.step.max(initial=0)) + 1) + own.step[rows]
    order = np.lexsort((own.start[rows], own.end[rows], track))
    rows, track = rows[order], track[order]
    start, end = own.start[rows].copy(), own.end[rows]
    same = track[1:] == track[:-1]
    start[1:] = np.where(same, np.maximum(start[1:], end[:-1]), start[1:])
    return Cut(row=rows, start=start, end=end)
