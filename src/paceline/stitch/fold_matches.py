"""From the matches of all steps, which ops of the folded step meet.

Each match of a step is a set of ops. It is known by its lowest op; an op belongs to the set that it
was most often in, so that a wrong match in one step changes nothing.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I32, I64, Group, Kind
from paceline.stitch.fold import Folded
from paceline.stitch.matches import Matches
from paceline.stitch.meeting import packed


@dataclass(frozen=True, slots=True, kw_only=True)
class Meetings:
    """The match of each op, or -1, and the group of each match (a position, or -1)."""

    match: I32
    group: I32
    groups: tuple[Group, ...]


def meetings(folded: Folded, matches: Matches) -> Meetings:
    """Each collective with one op a worker, each message with one send and one receive."""
    kind = folded.kinds.astype(np.int64)
    number, op = _rows(folded, matches)
    anchor = _lowest(number, op)
    _, first, times = np.unique(packed(op, anchor), return_index=True, return_counts=True)
    op, anchor, number = op[first], anchor[first], number[first]
    order = np.lexsort((-anchor, times, op))
    at = np.full(len(folded), -1, dtype=np.int64)
    often = np.zeros(len(folded), dtype=np.int64)
    group = np.full(len(folded), -1, dtype=np.int64)
    # the last of an op is its most frequent
    at[op[order]], often[op[order]] = anchor[order], times[order]
    group[op[order]] = matches.group[number[order]]
    met = np.flatnonzero(at >= 0)
    at[met] = at[at[met]]  # the lowest op of a rare match may itself belong elsewhere
    met = _once(met, at, kind, folded.worker, often)
    anchors, match = np.unique(at[met], return_inverse=True)
    out = np.full(len(folded), -1, dtype=np.int32)
    out[met] = match
    return Meetings(match=out, group=group[anchors].astype(np.int32), groups=matches.groups)


def _rows(folded: Folded, matches: Matches) -> tuple[I64, I64]:
    """The match and the op of each row that has one; only ops of one step meet."""
    op = np.full(len(matches.match), -1, dtype=np.int64)
    step = np.full(len(matches.match), -1, dtype=np.int64)
    for position, (op_of, step_of) in enumerate(zip(folded.op_of, folded.step_of, strict=True)):
        own = np.flatnonzero(matches.trace == position)
        op[own], step[own] = op_of[matches.event[own]], step_of[matches.event[own]]
    some = np.flatnonzero(op >= 0)
    number = matches.match[some].astype(np.int64)
    lowest = np.full(len(matches), np.iinfo(np.int64).max)
    np.minimum.at(lowest, number, step[some])
    together = step[some] == lowest[number]
    return number[together], op[some[together]]


def _lowest(number: I64, op: I64) -> I64:
    """The lowest op of the match of each row."""
    lowest = np.full(int(number.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, number, op)
    return lowest[number]


def _once(met: I64, at: I64, kind: I64, worker: I32, often: I64) -> I64:
    """Drops all but the most frequent op of each seat, and matches left with one side."""
    seat = np.where(kind[met] == Kind.COLLECTIVE, worker[met].astype(np.int64), -1 - kind[met])
    order = np.lexsort((met, -often[met], seat, at[met]))
    own, seats = at[met[order]], seat[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (own[1:] != own[:-1]) | (seats[1:] != seats[:-1])
    met = np.sort(met[order[new]])
    sides = np.bincount(at[met], minlength=len(at))
    alone = (sides[at[met]] < 2) & (kind[met] != Kind.COLLECTIVE)
    return met[~alone]
