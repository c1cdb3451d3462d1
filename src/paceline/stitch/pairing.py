"""Pairs two sequences of events that should be the same, although some are missing from either.

With the lag between their clocks known, the pairing that keeps the order and lies closest in time
is found exactly; without one, names and sizes decide, and ties are paired from one end.
"""

import numpy as np

from paceline.model import F64, I64, UNKNOWN
from paceline.stitch.lag import Lag, Line, differences, gap_ns, lag_between, scatter

_CELLS = 40_000_000
_TELLING = 8  # with fewer ends their scatter proves nothing


def out_of_step(a: Line, b: Line) -> bool:
    """True if the k-th of a name in a is plainly not the k-th in b, by their number or times."""
    if len(a) != len(b):
        return True
    of_a, of_b = np.argsort(a.name, kind="stable"), np.argsort(b.name, kind="stable")
    if not np.array_equal(a.name[of_a], b.name[of_b]):
        return True
    known = (a.end_ns[of_a] != UNKNOWN) & (b.end_ns[of_b] != UNKNOWN)
    if known.sum() < _TELLING:
        return False
    _, apart = differences(a.end_ns[of_a[known]], b.end_ns[of_b[known]])
    unshifted = scatter(apart[np.argsort(of_a[known])])
    if unshifted <= gap_ns(a) / 4:
        return False
    lag = lag_between(a, b)
    return lag is not None and lag.shift != 0 and lag.scatter_ns < unshifted / 3


def pairs(a: Line, b: Line, lag: Lag | None, *, from_end: bool) -> tuple[I64, I64]:
    """Positions of the pairs in a and b; without a lag, ties are paired from one end."""
    from paceline.stitch.pairing_kernel import paired  # compiled: slow to import

    scale, base = np.inf, 0
    if lag is not None:
        scale = max(gap_ns(a), 8 * lag.scatter_ns, 1.0)
        base = lag.start_ns
    if not from_end:
        a, b = a.reversed(), b.reversed()
    shift = lag.shift if lag is not None else 0
    half = max(len(a), len(b))
    if len(a) * len(b) > _CELLS:
        half = max(32, _CELLS // (2 * len(a)))
        shift = shift if from_end else len(a) - len(b) - shift
    origin = _first_known(a)
    at_a, at_b = paired(
        np.ascontiguousarray(a.name), np.ascontiguousarray(b.name),
        np.ascontiguousarray(a.size_bytes), np.ascontiguousarray(b.size_bytes),
        _relative(a.end_ns, origin), _relative(b.end_ns, origin + base), scale, shift, half,
    )  # fmt: skip
    if not from_end:
        return len(a) - 1 - at_a, len(b) - 1 - at_b
    return at_a, at_b


def _first_known(line: Line) -> int:
    known = line.end_ns[line.end_ns != UNKNOWN]
    return int(known[0]) if len(known) else 0


def _relative(end_ns: I64, origin: int) -> F64:
    return np.where(end_ns == UNKNOWN, np.nan, (end_ns - origin).astype(np.float64))
