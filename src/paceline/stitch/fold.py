"""Folds all steps of all workers into one: the ops, and when each ran in every step.

Each lane of each worker has one sequence of ops that its steps share (`structure`). Ops of the
whole job are numbered by the median of their aligned starts, so that ids follow a lane's order and
time runs with them. Times are kept as a table of ops by steps, in ns after the start of the step.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I32, I64, TALKING, U8, UNKNOWN, Alignment, Note, Trace
from paceline.stitch import lanes, structure
from paceline.stitch.alignments import mapped_ns
from paceline.stitch.flatten import Pieces
from paceline.stitch.fold_keys import Key, keys
from paceline.stitch.meeting import packed

_MEDIAN_OF = 65  # steps that the order of ops is taken from


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """All ops by id: `worker` is a rank, `key` a position in `keys`, `lane` one in `lanes`.

    `start_ns` and `end_ns` have a row for each op and a column for each step; `op_of` gives for
    each trace the op of each event, `step_of` the step (a position, too), -1 where there is none.
    """

    worker: I32
    lane: I32
    key: I64
    size_bytes: I64
    start_ns: I64
    end_ns: I64
    op_of: tuple[I64, ...]
    step_of: tuple[I64, ...]
    keys: tuple[Key, ...]
    lanes: tuple[str, ...]
    notes: tuple[Note, ...]

    def __len__(self) -> int:
        return len(self.worker)

    @property
    def kinds(self) -> U8:
        """The kind of each op."""
        return np.array([int(key.kind) for key in self.keys], dtype=np.uint8)[self.key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Laned:
    """The ops of one worker, lane by lane, and the op of each of its pieces (or -1)."""

    lane: I64
    key: I64
    op: I64
    note: Note | None


def ops(
    traces: Sequence[Trace],
    pieces: Sequence[Pieces],
    alignments: Sequence[Alignment],
    steps: int,
) -> Folded:
    """The ops that at least half of the steps hold, with their times in every step."""
    table, doing = keys(traces, pieces)
    talks = [np.isin(t.kind[p.event], TALKING) for t, p in zip(traces, pieces, strict=True)]
    names, lane_of = lanes.named(pieces, doing, talks)
    laned = [
        _by_lane(trace.worker, own, key, lane, steps)
        for trace, own, key, lane in zip(traces, pieces, doing, lane_of, strict=True)
    ]
    before = np.cumsum([0] + [len(one.lane) for one in laned])
    worker = np.repeat([trace.worker for trace in traces], np.diff(before))
    lane = np.concatenate([one.lane for one in laned])
    numbered = [np.where(one.op >= 0, one.op + first, -1)
                for one, first in zip(laned, before[:-1], strict=True)]  # fmt: skip
    start, end = _times(numbered, pieces, alignments, (int(before[-1]), steps))
    size = _sizes(traces, pieces, numbered, int(before[-1]))
    order = _by_time(worker, lane, start)
    number = np.append(np.argsort(order), -1)
    op_of = [np.append(number[op], -1)[own.last]
             for op, own in zip(numbered, pieces, strict=True)]  # fmt: skip
    step_of = [np.append(own.step, -1)[own.last].astype(np.int64) for own in pieces]
    return Folded(
        worker=worker[order].astype(np.int32),
        lane=lane[order].astype(np.int32),
        key=np.concatenate([one.key for one in laned])[order],
        size_bytes=size[order],
        start_ns=start[order],
        end_ns=end[order],
        op_of=tuple(op_of),
        step_of=tuple(step_of),
        keys=table,
        lanes=names,
        notes=tuple(one.note for one in laned if one.note is not None),
    )


def _by_lane(worker: int, own: Pieces, key: I64, lane_of: I64, steps: int) -> _Laned:
    """Finds the structure of each lane; pieces come sorted by lane, then by step."""
    track = own.lane.astype(np.int64) * steps + own.step
    ends = np.searchsorted(track, np.arange(len(own.lanes) * steps + 1))
    op = np.full(len(own), -1, dtype=np.int64)
    found_lanes: list[I64] = []
    found_keys: list[I64] = []
    count = left_out = foreign = 0
    for lane in np.unique(own.lane):
        bounds = ends[lane * steps : (lane + 1) * steps + 1]
        found = structure.shared([key[a:b] for a, b in itertools.pairwise(bounds)])
        place = np.concatenate(found.places)
        op[bounds[0] : bounds[-1]] = np.where(place >= 0, place + count, -1)
        found_lanes.append(np.full(len(found.keys), lane_of[lane]))
        found_keys.append(found.keys)
        count += len(found.keys)
        left_out += found.left_out
        foreign = max(foreign, found.foreign)
    return _Laned(
        lane=np.concatenate([np.empty(0, np.int64), *found_lanes]),
        key=np.concatenate([np.empty(0, np.int64), *found_keys]),
        op=op,
        note=_left_out(worker, left_out, foreign),
    )


def _left_out(worker: int, pieces: int, steps: int) -> Note | None:
    if not pieces:
        return None
    text = "events that fewer than half of the steps hold left out"
    if steps:
        text += f"; {steps} steps have another structure than the rest on some lane"
    return Note(code="unlike-steps", text=text, worker=worker, count=pieces)


def _times(
    numbered: Sequence[I64],
    pieces: Sequence[Pieces],
    alignments: Sequence[Alignment],
    shape: tuple[int, int],
) -> tuple[I64, I64]:
    """Aligned starts and ends, ops by steps, counted from the first start in each step."""
    start, end = np.full(shape, UNKNOWN), np.full(shape, UNKNOWN)
    for op, own, alignment in zip(numbered, pieces, alignments, strict=True):
        known = op >= 0
        start[op[known], own.step[known]] = mapped_ns(own.start_ns[known], alignment)
        end[op[known], own.step[known]] = mapped_ns(own.end_ns[known], alignment)
    unknown = start == UNKNOWN
    began = np.where(unknown, np.iinfo(np.int64).max, start).min(axis=0, initial=2**62)
    return np.where(unknown, UNKNOWN, start - began), np.where(unknown, UNKNOWN, end - began)


def _sizes(
    traces: Sequence[Trace], pieces: Sequence[Pieces], numbered: Sequence[I64], count: int
) -> I64:
    """The most frequent size of each op over the steps, -1 where none is known."""
    sizes = [t.size_bytes[own.event] for t, own in zip(traces, pieces, strict=True)]
    size, op = np.concatenate(sizes), np.concatenate(numbered)
    told = np.flatnonzero((size >= 0) & (op >= 0))
    _, first, times = np.unique(packed(op[told], size[told]), return_index=True, return_counts=True)
    op, size = op[told[first]], size[told[first]]
    order = np.lexsort((size, times, op))
    out = np.full(count, -1, dtype=np.int64)
    out[op[order]] = size[order]  # the last one of an op is its most frequent
    return out


def _by_time(worker: I64, lane: I64, start: I64) -> npt.NDArray[np.intp]:
    """The order of ops by median start, in which no op comes before its lane's predecessor."""
    steps = start.shape[1]
    some = evenly(steps, _MEDIAN_OF)
    sample = start[:, some]
    known = (sample != UNKNOWN).sum(axis=1)
    ranked = np.sort(np.where(sample == UNKNOWN, np.iinfo(np.int64).max, sample), axis=1)
    middle = ranked[np.arange(len(ranked)), np.maximum(known - 1, 0) // 2]
    middle = np.where(known > 0, middle, 0)
    new = np.flatnonzero((np.diff(worker) != 0) | (np.diff(lane) != 0)) + 1
    for first, last in itertools.pairwise([0, *new, len(middle)]):
        middle[first:last] = np.maximum.accumulate(middle[first:last])
    return np.argsort(middle, kind="stable")


def evenly(count: int, most: int) -> I64:
    """Up to `most` of `count` positions, evenly chosen."""
    chosen: F64 = np.linspace(0, count - 1, min(count, most)).round()
    return chosen.astype(np.int64)
