"""All traces in, one Trace a worker out, with what no single recorder knew.

A worker may have left a profiler's timeline, the keys of its flight recorder, the hops of its own
transport and an execution trace without times. The timeline leads: keys go onto its spans, hops
join as events on lanes of their own, dependencies are carried over. What has no clock in common
with it is left out, and said.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import UNKNOWN, Kind, ModelError, Note, Trace, verify
from paceline.stitch.concat import together, told
from paceline.stitch.dependencies import depending
from paceline.stitch.hops import carried
from paceline.stitch.keys import is_keys, keyed
from paceline.stitch.plausible import plausible

_MOST = 1_000_000  # a torn file may claim any number of workers; no more than these are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """One trace a worker, by rank; who is missing; and what could not be used."""

    traces: tuple[Trace, ...]
    missing: tuple[int, ...]
    notes: tuple[Note, ...]


def workers(traces: Iterable[Trace]) -> Joined:
    """One trace for each worker that left events with times."""
    parts: dict[int, list[Trace]] = {}
    joined: list[Trace] = []
    notes: list[Note] = []
    for trace in traces:
        part, note = plausible(verify(trace))
        parts.setdefault(trace.worker, []).append(part)
        notes.extend([note] if note else [])
    offsets: dict[tuple[int, str], int] = {}
    for rank in sorted(parts):
        own = [part for part in parts[rank] if len(part)]
        silent = [part for part in parts[rank] if not len(part)]
        _refuse_twice(own)
        timed = [part for part in own if (part.start_ns != UNKNOWN).any()]
        if not timed:
            notes.append(Note(code="no-events", text="no event with a time", worker=rank))
            continue
        joined.append(told(_joined(own, timed, notes, offsets), silent))
    if not joined:
        raise ModelError(
            "no trace holds an event with a time.",
            expected="A profile needs at least one worker's timeline.",
            cure="Record a few training steps, and give the files of all workers.",
        )
    return Joined(
        traces=tuple(_relinked(trace, offsets) for trace in joined),
        missing=_missing(joined, set(parts)),
        notes=tuple(notes),
    )


def _joined(
    own: Sequence[Trace],
    timed: Sequence[Trace],
    notes: list[Note],
    offsets: dict[tuple[int, str], int],
) -> Trace:
    """One worker's parts as one: the timelines first, so that their indices stay."""
    keys = [part for part in timed if is_keys(part)] if len(timed) > 1 else []
    spans = [part for part in timed if not any(part is key for key in keys)]
    if not spans:
        keys, spans = [], list(timed)
    spans.sort(key=lambda part: (_is_hops(part), -len(part)))
    clock = spans[0].clock
    for part in spans:
        if part.clock != clock:
            text = f"trace on another clock ({part.clock}) than the timeline ({clock}) left out"
            notes.append(Note(code="other-clock", text=text, worker=part.worker, count=len(part)))
    spans = [part for part in spans if part.clock == clock]
    before = 0
    for part in spans:
        offsets[part.worker, _tool(part)] = before
        before += len(part)
    lead = [part for part in spans if not _is_hops(part)]
    trace = together([*lead, *(carried(part, lead) for part in spans if _is_hops(part))])
    for key in keys:
        trace, note = keyed(trace, key)
        notes.extend([*key.notes, *([note] if note else [])])
    for part in own:
        if part.clock is None:
            trace, note = depending(trace, part)
            notes.extend([note] if note else [])
    return trace


def _is_hops(trace: Trace) -> bool:
    """True for the hops of a transport, with what its worker did to issue them and to wait."""
    hop = (trace.chunk >= 0) | (trace.round >= 0)
    return bool(hop.any() and (hop | (trace.kind == Kind.HOST)).all())


def _tool(trace: Trace) -> str:
    return next((source.tool for source in trace.sources if source.tool), "")


def _window(trace: Trace) -> tuple[int, int]:
    start = trace.start_ns[trace.start_ns != UNKNOWN]
    return (int(start.min()), int(start.max())) if len(start) else (0, 0)


def _refuse_twice(own: Sequence[Trace]) -> None:
    """Two recordings of one moment by one tool are two workers with the same rank."""
    alike: dict[object, list[tuple[tuple[int, int], int]]] = {}
    for at, one in enumerate(own):
        kind = _tool(one), one.clock, _is_hops(one), is_keys(one)
        alike.setdefault(kind, []).append((_window(one), at))
    for windows in alike.values():
        for (before, one), (after, other) in itertools.pairwise(sorted(windows)):
            if after[0] <= before[1]:
                both = (own[one], own[other])
                raise ModelError(
                    f"two traces say that they are worker {own[one].worker}, at the same time.",
                    where=", ".join(s.path for t in both for s in t.sources) or None,
                    expected="Each worker has one trace of each tool.",
                    cure="Give each file once, and only files of one run.",
                )


def _relinked(trace: Trace, offsets: dict[tuple[int, str], int]) -> Trace:
    """Links to other workers, moved to where the event stands in that worker's joined trace."""
    others = np.flatnonzero(trace.after_worker != trace.worker)
    moved = trace.after_index.copy()
    for worker in np.unique(trace.after_worker[others]):
        mine = others[trace.after_worker[others] == worker]
        moved[mine] += offsets.get((int(worker), _tool(trace)), 0)
    return dataclasses.replace(trace, after_index=moved) if len(others) else trace


def _missing(traces: Sequence[Trace], seen: set[int]) -> tuple[int, ...]:
    """Ranks that someone knows of and that left no events."""
    known = seen | {rank for t in traces for group in t.groups for rank in group.members or ()}
    known |= {int(peer) for t in traces for peer in np.unique(t.peer) if peer >= 0}
    counts = [t.facts.workers for t in traces if t.facts.workers is not None]
    known |= set(range(min(max(counts, default=0), _MOST)))
    return tuple(sorted(known - {trace.worker for trace in traces}))
