"""Leaves out steps whose times no alignment maps: those on the worthless side of a clock's jump.

A jump that is short beside a step costs nothing: its times stay, within the error of the clock.
"""

from collections.abc import Sequence

import numpy as np

from paceline.model import UNKNOWN, Note, Trace
from paceline.stitch.alignments import Lost
from paceline.stitch.meeting import runs

_SHORT = 0.01  # of a step


def without(
    lost: Sequence[Lost], traces: Sequence[Trace], kept: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[Note, ...]]:
    """The steps of which no event lies in a lost part; all of them if that leaves none."""
    gone: set[int] = set()
    for part in lost:
        trace = traces[part.trace]
        start = trace.start_ns
        if abs(part.ahead_ns) < _SHORT * _step_ns(trace):
            continue
        inside = (start != UNKNOWN) & (start >= part.first_ns) & (start <= part.last_ns)
        gone |= set(np.unique(trace.step[inside]).tolist()) & set(kept)
    if not gone:
        return kept, ()
    left = tuple(step for step in kept if step not in gone)
    if not left:
        text = "every step has times from a clock that jumped; they stay as they were recorded"
        return kept, (Note(code="jumped-steps", text=text, count=len(kept)),)
    text = f"steps with times from a clock that jumped left out, {len(left)} kept"
    return left, (Note(code="jumped-steps", text=text, count=len(kept) - len(left)),)


def _step_ns(trace: Trace) -> float:
    """The median time from one step's first start to its last."""
    rows = np.flatnonzero((trace.step >= 0) & (trace.start_ns != UNKNOWN))
    own = runs(trace.step[rows])
    start = trace.start_ns[rows[own.order]]
    if not len(start):
        return 0.0
    low, high = (f.reduceat(start, own.first[:-1]) for f in (np.minimum, np.maximum))
    return float(np.median(high - low))
