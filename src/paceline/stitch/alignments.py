"""How the clocks of all workers map onto the first worker's, and times on that common clock.

Offsets may be as large as the time since 1970, so arithmetic is on whole nanoseconds; only the
drift, a product of small differences, is computed in floats. Starts and ends are mapped each for
itself: a duration on a drifting clock is not a duration on the first worker's.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I64, UNKNOWN, Alignment, Note, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A part of a trace (a position), on its own clock, that its alignment does not hold for.

    Aligned times in it are off by `ahead_ns`.
    """

    trace: int
    first_ns: int
    last_ns: int
    ahead_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignments:
    """One alignment a trace, in the order of traces.

    `residual_ns` is the median distance of a collective's end from the common end of all its
    members, on aligned clocks; None where nothing was compared.
    """

    alignments: tuple[Alignment, ...]
    residual_ns: float | None
    notes: tuple[Note, ...] = ()
    lost: tuple[Lost, ...] = ()


def aligned_ns(trace: Trace, alignment: Alignment) -> I64:
    """The start of each event on the first worker's clock, UNKNOWN where not recorded."""
    return mapped_ns(trace.start_ns, alignment)


def aligned_end_ns(trace: Trace, alignment: Alignment) -> I64:
    """The end of each event on the first worker's clock, UNKNOWN where not recorded."""
    return mapped_ns(ends_of(trace), alignment)


def ends_of(trace: Trace) -> I64:
    """The end of each event on the worker's own clock, UNKNOWN where it never ended."""
    ended = (trace.start_ns != UNKNOWN) & (trace.duration_ns != UNKNOWN)
    return np.where(ended, trace.start_ns + np.where(ended, trace.duration_ns, 0), UNKNOWN)


def mapped_ns(raw_ns: I64, alignment: Alignment) -> I64:
    """Times of a worker's own clock on the first worker's clock; keeps order and UNKNOWN."""
    known = raw_ns != UNKNOWN
    since = np.where(known, raw_ns - alignment.raw_start_ns, 0)
    drifted = np.rint(alignment.drift_ppm * 1e-6 * since).astype(np.int64)
    return np.where(known, raw_ns + alignment.offset_ns + drifted, UNKNOWN)
