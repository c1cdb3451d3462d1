"""The events of one worker as intervals on one axis, and which of its lanes nest.

Steps and lanes are laid one after the other (see `nest.shifts`), so that the rest of flattening is
about one dimension only. A lane nests if it holds calls inside calls; the lanes of devices and of
messages do not, and a lane whose intervals mostly cross each other is treated like those.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import I64, TALKING, UNKNOWN, Trace
from paceline.stitch.concat import owners_of
from paceline.stitch.nest import Mask, by_start, outermost, parents, shifts

TOLERATED = 0.01  # share of a lane's time that intervals may cross by noise of the recorder's clock
_PASSES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """One row for each event of the steps that count; `start + shift` is on the common axis."""

    event: I64
    lane: I64
    step: I64
    start: I64
    end: I64
    shift: I64
    talks: Mask
    meets: Mask
    unended: int


def intervals(trace: Trace, steps: Sequence[int], meets: Mask) -> Intervals:
    """The intervals of all events in the given steps; one that never ended has no length."""
    counted = np.array(sorted(steps), dtype=np.int64)
    event = np.flatnonzero(np.isin(trace.step, counted) & (trace.start_ns != UNKNOWN))
    step = np.searchsorted(counted, trace.step[event])
    lane = trace.lane[event].astype(np.int64)
    start = trace.start_ns[event]
    unended = trace.duration_ns[event] == UNKNOWN
    end = start + np.where(unended, 0, trace.duration_ns[event])
    track = lane * len(counted) + step
    shift = shifts(start, end, track)[track]
    return Intervals(
        event=event,
        lane=lane,
        step=step,
        start=start + shift,
        end=end + shift,
        shift=shift,
        talks=np.isin(trace.kind[event], TALKING),
        meets=meets[event],
        unended=int(unended.sum()),
    )


def nesting_lanes(trace: Trace, own: Intervals) -> Mask:
    """Lanes on which at most half of the events talk or wait for another lane."""
    owner = owners_of(trace)
    mine = (trace.after_worker == trace.worker) & (trace.after_index < len(trace))
    apart = trace.lane[owner[mine]] != trace.lane[trace.after_index[mine]]
    waits = np.zeros(len(trace), dtype=np.bool_)
    waits[owner[mine][apart]] = True
    count = len(trace.lanes)
    served = np.bincount(own.lane[waits[own.event] | own.talks], minlength=count)
    return 2 * served <= np.bincount(own.lane, minlength=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Rows of lanes that nest, sorted by start; none outlasts the outermost one it began in."""

    rows: I64
    start: I64
    end: I64
    crossing: I64  # rows of lanes whose intervals cross each other too much to nest
    moved_ns: int


def settled(own: Intervals, rows: I64) -> Settled:
    """The rows with their intervals made to nest: what begins before another ends, begins then."""
    start, end = own.start.copy(), own.end
    crossing = np.empty(0, dtype=np.int64)
    rows = rows[by_start(start[rows], end[rows])]
    for turn in range(_PASSES):
        top = outermost(start[rows], end[rows])
        around = rows[parents(top)]
        over = end[rows] > end[around]
        if not over.any():
            break
        if turn == 0:
            lost = _crossing_lanes(own, rows, top, end[around] - start[rows], over)[own.lane[rows]]
            crossing, rows = rows[lost], rows[~lost]
            around, over = around[~lost], over[~lost]
        start[rows[over]] = end[around[over]]
        rows = rows[by_start(start[rows], end[rows])]
    return Settled(
        rows=rows,
        start=start[rows],
        end=end[rows],
        crossing=crossing,
        moved_ns=int((start[rows] - own.start[rows]).sum()),
    )


def _crossing_lanes(own: Intervals, rows: I64, top: Mask, crossed: I64, over: Mask) -> Mask:
    count = int(own.lane.max()) + 1
    lane = own.lane[rows]
    busy = _summed(lane[top], (own.end - own.start)[rows[top]], count)
    return _summed(lane[over], crossed[over], count) > TOLERATED * busy


def _summed(lane: I64, values: I64, count: int) -> npt.NDArray[np.float64]:
    total = np.zeros(count)
    np.add.at(total, lane, values)
    return total
