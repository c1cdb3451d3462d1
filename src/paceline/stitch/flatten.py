"""Cuts the intervals of a worker so that on each lane one thing happens at a time.

Host lanes hold calls inside calls. Of these stay the outermost (the user's own op) and the points
where something else is launched, awaited or met; whatever lies between belongs to the outermost. So
a call with one launch becomes three pieces: before, the launch, after. Lanes of a device, and
messages, do not nest: there, what overlaps is in order of its ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import I32, I64, TALKING, Columns, Note, Trace
from paceline.stitch.concat import owners_of
from paceline.stitch.cut import Cut, in_order, nested
from paceline.stitch.intervals import TOLERATED, Intervals, intervals, nesting_lanes, settled
from paceline.stitch.nest import Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces(Columns):
    """What one worker did, lane by lane, step by step, in order; no two pieces of a lane overlap.

    `event` is the event that a piece is part of, `step` a position in the steps that count, `lane`
    a position in `lanes`. `last` tells for each event of the trace the piece with which it ends,
    -1 for one that has none.
    """

    event: I64
    lane: I32
    step: I32
    start_ns: I64
    end_ns: I64
    last: I64
    lanes: tuple[str, ...]
    notes: tuple[Note, ...]

    def __len__(self) -> int:
        return len(self.event)


def linked(traces: Sequence[Trace]) -> tuple[Mask, ...]:
    """Of each trace, the events that talk, that wait for another lane, or that one waits for."""
    masks = [np.isin(trace.kind, TALKING) for trace in traces]
    at = {trace.worker: position for position, trace in enumerate(traces)}
    for position, trace in enumerate(traces):
        owner = owners_of(trace)
        for worker in np.unique(trace.after_worker):
            other = at.get(int(worker), -1)
            if other < 0:
                continue
            there = len(traces[other])
            mine = (trace.after_worker == worker) & (trace.after_index < there)
            target, waiting = trace.after_index[mine], owner[mine]
            if other == position:  # on one lane the order is known without links
                apart = trace.lane[waiting] != trace.lane[target]
                target, waiting = target[apart], waiting[apart]
            masks[position][waiting] = True
            masks[other][target] = True
    return tuple(masks)


def pieces(trace: Trace, steps: Sequence[int], meets: Mask) -> Pieces:
    """The pieces of all events in the given steps; events that `meets` marks stay themselves."""
    own = intervals(trace, steps, meets)
    nests = nesting_lanes(trace, own)[own.lane]
    calls = settled(own, np.flatnonzero(nests))
    cut, buried = nested(own, calls)
    nests[calls.crossing] = False
    lane = own.lane.copy()
    inner, inverse = np.unique(lane[buried], return_inverse=True)
    lane[buried] = len(trace.lanes) + inverse
    lanes = (*trace.lanes, *(f"{trace.lanes[int(at)]} inside" for at in inner))
    rest = in_order(own, np.concatenate([np.flatnonzero(~nests), buried]), lane)
    moved = calls.moved_ns + int((rest.start - own.start[rest.row]).sum())
    row, start, end = _by_track(own, lane, (cut, rest))
    last = np.full(len(trace), -1, dtype=np.int64)
    last[own.event[row]] = np.arange(len(row))  # of several pieces, the one that comes last
    return Pieces(
        event=own.event[row],
        lane=lane[row].astype(np.int32),
        step=own.step[row].astype(np.int32),
        start_ns=start - own.shift[row],
        end_ns=end - own.shift[row],
        last=last,
        lanes=lanes,
        notes=_notes(trace, own, moved),
    )


def _by_track(own: Intervals, lane: I64, cuts: tuple[Cut, ...]) -> tuple[I64, I64, I64]:
    row = np.concatenate([cut.row for cut in cuts])
    track = lane[row] * (int(own.step.max(initial=0)) + 1) + own.step[row]
    order = np.argsort(track, kind="stable")
    start = np.concatenate([cut.start for cut in cuts])
    end = np.concatenate([cut.end for cut in cuts])
    return row[order], start[order], end[order]


def _notes(trace: Trace, own: Intervals, moved_ns: int) -> tuple[Note, ...]:
    notes: list[Note] = []
    if own.unended:
        text = "events without an end count as ending where they start"
        notes.append(Note(code="no-end", text=text, worker=trace.worker, count=own.unended))
    if moved_ns > TOLERATED * float((own.end - own.start).sum()):
        text = f"events of one lane overlap; their starts were moved by {moved_ns} ns in all"
        notes.append(Note(code="overlap", text=text, worker=trace.worker))
    return tuple(notes)
