"""Pairs two sequences of events that should be the same, although some are missing from either.

Where do they start to agree? The gaps between ends are the same on all members of a group, whatever
their clocks say; so the shift with the least scatter of end differences is the right one. With that
lag known, the pairing that keeps the order and lies closest in time is found exactly.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, UNKNOWN

_ALL_SHIFTS = 256  # sequences up to this length together: every shift is tried
_TRIED = 48
_SAMPLED = 2048
_CELLS = 40_000_000
_TELLING = 8  # with fewer ends their scatter proves nothing
_ALIKE = 0.4  # least part of the names that agree at a shift worth trying
_ONE_HOUR_NS = 3.6e12


@dataclass(frozen=True, slots=True)
class Line:
    """Events of one slot in order."""

    name: I64
    size_bytes: I64
    end_ns: I64

    def __len__(self) -> int:
        return len(self.name)

    def reversed(self) -> "Line":
        """The same events from the last to the first."""
        return Line(self.name[::-1], self.size_bytes[::-1], self.end_ns[::-1])


@dataclass(frozen=True, slots=True)
class Lag:
    """How far b's clock is ahead of a's, and how far single ends scatter around that."""

    start_ns: int
    scatter_ns: float
    shift: int = 0


def differences(a_ns: I64, b_ns: I64) -> tuple[int, F64]:
    """B - a as a whole number and floats around it, so that no nanosecond is lost."""
    apart = b_ns - a_ns
    base = int(apart[len(apart) // 2])
    return base, (apart - base).astype(np.float64)


def scatter(values: F64) -> float:
    """How closely the closest 40 % of the values lie together, apart from a straight drift.

    Not their median distance: one missing event moves all that follow it.
    """
    return _closest(values - _drifted(values))[1]


def _drifted(values: F64) -> F64:
    far = len(values) // 8
    if far < 3:
        return np.zeros(len(values))
    slope = float(np.median(values[far:] - values[:-far])) / far
    return np.arange(len(values), dtype=np.float64) * slope


def _closest(values: F64) -> tuple[float, float]:
    """Middle and half width of the shortest interval that holds 40 % of the values."""
    ordered = np.sort(values)
    most = max(1, (2 * len(values) + 4) // 5)
    widths = ordered[most - 1 :] - ordered[: len(values) - most + 1]
    at = int(np.argmin(widths))
    return float(ordered[at] + widths[at] / 2), float(widths[at] / 2)


def gap_ns(line: Line) -> float:
    """The typical time from one end to the next."""
    known = line.end_ns[line.end_ns != UNKNOWN]
    return float(np.median(np.abs(np.diff(known)))) if len(known) > 1 else 0.0


def lag_between(a: Line, b: Line) -> Lag | None:
    """The lag at the shift where the two agree best, None where times cannot tell."""
    tried = [found for shift in _shifts(a, b) if (found := _at(a, b, shift)) is not None]
    if not tried:
        return None
    limit = 1.5 * min(lag.scatter_ns for lag in tried) + 1000
    # perfectly regular work fits at many shifts: best where all of the shorter takes part, and
    # then by the clocks, which are rarely an hour apart if they are of one kind
    equal = [lag for lag in tried if lag.scatter_ns <= limit]
    inside = [lag for lag in equal if 0 <= lag.shift * _sign(a, b) <= abs(len(a) - len(b))]
    nearest = min(inside or equal, key=lambda lag: abs(lag.start_ns))
    if abs(nearest.start_ns) < _ONE_HOUR_NS:
        return nearest
    return min(inside or equal, key=lambda lag: abs(lag.shift))


def _sign(a: Line, b: Line) -> int:
    return 1 if len(a) >= len(b) else -1


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


def _at(a: Line, b: Line, shift: int) -> Lag | None:
    low, high = max(0, shift), min(len(a), len(b) + shift)
    least = max(1, min(len(a), len(b)) // 2)
    if high - low < least:
        return None
    rows = np.unique(np.linspace(low, high - 1, min(_SAMPLED, high - low)).astype(np.int64))
    equal = a.name[rows] == b.name[rows - shift]
    known = equal & (a.end_ns[rows] != UNKNOWN) & (b.end_ns[rows - shift] != UNKNOWN)
    if equal.mean() < _ALIKE or not known.any():
        return None
    base, apart = differences(a.end_ns[rows[known]], b.end_ns[rows[known] - shift])
    middle, width = _closest(apart - _drifted(apart))
    shorter = min(len(a), len(b)) / (high - low)
    return Lag(base + round(middle), width * shorter**2, shift)


def _shifts(a: Line, b: Line) -> list[int]:
    if len(a) + len(b) <= _ALL_SHIFTS:
        return list(range(1 - len(b), len(a)))
    room = 1 << (len(a) + len(b)).bit_length()
    product = np.fft.rfft(_texture(a), room) * np.conj(np.fft.rfft(_texture(b), room))
    agreement = np.fft.irfft(product, room)
    best = np.argpartition(agreement, -_TRIED)[-_TRIED:]
    signed = np.where(best > len(a), best - room, best)
    return [0, len(a) - len(b), *(int(shift) for shift in signed if -len(b) < shift < len(a))]


def _texture(line: Line) -> F64:
    """A number for each event that is alike on all members: its gap and its name."""
    gaps = np.diff(line.end_ns, prepend=line.end_ns[:1]).astype(np.float64)
    grain = np.log(np.abs(gaps) + 1e3)
    spread = float(np.std(grain)) or 1.0
    code = np.array([1.0, -1.0, 0.5, -0.5])[(line.name * 2654435761 >> 7) & 3]
    return np.clip((grain - np.median(grain)) / spread, -3, 3) + code
