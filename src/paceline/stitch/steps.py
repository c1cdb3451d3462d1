"""Decides which steps a profile is made of, and which step each event belongs to.

Events between two step marks prepare the next step, unless an event of a step launched them. A
step counts if every worker recorded it whole: the first and the last of a window are often cut,
which shows in their number of events. A trace without any mark is one step.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import I64, UNKNOWN, ModelError, Note, Trace
from paceline.stitch.concat import owners_of

# Steps of one job differ in their events by a few (polling, garbage collection); a cut one by many.
_WHOLE = 0.9
_WHOLE_OF_TWO = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Traces whose events know their step, or -1; and the steps that all of them hold whole."""

    traces: tuple[Trace, ...]
    kept: tuple[int, ...]
    notes: tuple[Note, ...]


def whole(traces: Sequence[Trace]) -> Steps:
    """The steps that all workers recorded from start to end, in order of number.

    A worker that shares no step with most others has no part in them.
    """
    notes: list[Note] = []
    marked = [bool((trace.step >= 0).any()) for trace in traces]
    placed = [
        _placed(trace, notes) if mark else _one_step(trace, any(marked), notes)
        for trace, mark in zip(traces, marked, strict=True)
    ]
    counts = [_counts(trace) for trace in placed]
    complete = [_complete(trace, count, notes) for trace, count in zip(placed, counts, strict=True)]
    kept = _shared(placed, complete, notes)
    return Steps(traces=tuple(placed), kept=tuple(sorted(kept)), notes=tuple(notes))


def _one_step(trace: Trace, others_marked: bool, notes: list[Note]) -> Trace:
    if others_marked:
        text = "no step marks, while other workers have them: left out of the steps"
        notes.append(Note(code="no-steps", text=text, worker=trace.worker))
        return trace
    text = "no step marks: the whole recording counts as one step"
    notes.append(Note(code="no-steps", text=text, worker=trace.worker))
    step = np.where(trace.start_ns != UNKNOWN, 0, -1)
    return dataclasses.replace(trace, step=step)


def _placed(trace: Trace, notes: list[Note]) -> Trace:
    """Gives events between two steps the one they belong to."""
    loose = (trace.step < 0) & (trace.start_ns != UNKNOWN)
    if not loose.any():
        return trace
    step = trace.step.copy()
    _follow_launch(trace, step)
    rest = np.flatnonzero((step < 0) & loose)
    step[rest] = _next_step(trace, rest)
    lost = int((step[rest] < 0).sum())
    if lost:
        text = "events before the first step, after the last or across steps left out"
        notes.append(Note(code="outside-steps", text=text, worker=trace.worker, count=lost))
    return dataclasses.replace(trace, step=step)


def _follow_launch(trace: Trace, step: npt.NDArray[np.int64]) -> None:
    """What an event of a step launched belongs to that step, however late it runs."""
    own = (trace.after_worker == trace.worker) & (trace.after_index < len(trace))
    owner, target = owners_of(trace)[own], trace.after_index[own]
    open_ = (trace.step[owner] < 0) & (trace.step[target] >= 0)
    np.maximum.at(step, owner[open_], trace.step[target[open_]])


def _next_step(trace: Trace, rest: I64) -> I64:
    """The step that begins next after each event ended, if one had begun before; else -1."""
    marked = np.flatnonzero((trace.step >= 0) & (trace.start_ns != UNKNOWN))
    if not len(marked):  # no event that knows its step has a time
        return np.full(len(rest), -1, dtype=np.int64)
    steps, which = np.unique(trace.step[marked], return_inverse=True)
    began = np.full(len(steps), np.iinfo(np.int64).max)
    np.minimum.at(began, which, trace.start_ns[marked])
    order = np.argsort(began, kind="stable")
    start = trace.start_ns[rest]
    end = start + np.maximum(
        np.where(trace.duration_ns[rest] == UNKNOWN, 0, trace.duration_ns[rest]), 0
    )
    following = np.searchsorted(began[order], start, side="right")
    inside = (following > 0) & (following < len(steps))
    nearest = order[np.minimum(following, len(steps) - 1)]
    return np.where(inside & (end <= began[nearest]), steps[nearest], -1)


def _counts(trace: Trace) -> dict[int, int]:
    steps, counts = np.unique(trace.step[trace.step >= 0], return_counts=True)
    return dict(zip(steps.tolist(), counts.tolist(), strict=True))


def _complete(trace: Trace, counts: dict[int, int], notes: list[Note]) -> set[int]:
    """All steps but a first or last one that holds clearly fewer events than the others."""
    ordered = sorted(counts)
    cut = [step for step in {ordered[0], ordered[-1]} if _is_cut(step, counts)] if ordered else []
    for step in sorted(cut):
        text = f"step {step} is cut by the recording's window: left out"
        notes.append(Note(code="partial-step", text=text, worker=trace.worker))
    return set(ordered) - set(cut)


def _is_cut(step: int, counts: dict[int, int]) -> bool:
    others = [count for other, count in counts.items() if other != step]
    if not others:
        return False
    share = _WHOLE if len(others) > 1 else _WHOLE_OF_TWO
    return counts[step] < share * float(np.median(others))


def _shared(traces: Sequence[Trace], complete: Sequence[set[int]], notes: list[Note]) -> set[int]:
    """The steps that all workers have; workers that share none are left out, fewest steps first."""
    alive = [k for k, steps in enumerate(complete) if steps]
    if not alive:
        raise ModelError(
            "no worker recorded a whole step.",
            expected="A profile needs at least one.",
            cure="Record a few steps more, and mark them (in PyTorch: profiler.step()).",
        )
    holders = Counter(step for steps in complete for step in steps)
    best = max(holders, key=lambda step: (holders[step], step))
    kept = set[int].intersection(*(complete[k] for k in alive if best in complete[k]))
    for k in alive:
        if best not in complete[k]:
            text = "shares no recorded step with the others: left out of the steps"
            notes.append(Note(code="no-shared-step", text=text, worker=traces[k].worker))
    dropped = len(holders) - len(kept)
    if dropped:
        text = f"steps that not all workers recorded whole left out, {len(kept)} kept"
        notes.append(Note(code="unshared-steps", text=text, count=dropped))
    return kept
