"""Leaves out times that no run can have.

A damaged clock puts an event decades from its neighbors. Such a time would stretch a step over
years, and sums of it no longer fit whole nanoseconds. What lies more than a year from the middle of
its trace, or lasts longer, has no time that could be used.
"""

import dataclasses

import numpy as np

from paceline.model import UNKNOWN, Note, Trace

_YEAR_NS = 365 * 86_400 * 10**9


def plausible(trace: Trace) -> tuple[Trace, Note | None]:
    """The trace with times within a year of their median, and how many events lost theirs."""
    timed = np.flatnonzero(trace.start_ns != UNKNOWN)
    if not len(timed):
        return trace, None
    start = trace.start_ns[timed]
    middle = int(np.partition(start, len(start) // 2)[len(start) // 2])
    # whole numbers of Python, since the difference of two far times does not fit a column
    low, high = max(middle - _YEAR_NS, UNKNOWN + 1), min(middle + _YEAR_NS, 2**63 - 1)
    far = (start < low) | (start > high) | (trace.duration_ns[timed] > _YEAR_NS)
    if not far.any():
        return trace, None
    lost = timed[far]
    start_ns, duration_ns = trace.start_ns.copy(), trace.duration_ns.copy()
    start_ns[lost] = duration_ns[lost] = UNKNOWN
    text = "events more than a year from the rest, or longer, count as events without a time"
    note = Note(code="far-times", text=text, worker=trace.worker, count=len(lost))
    return dataclasses.replace(trace, start_ns=start_ns, duration_ns=duration_ns), note
