"""How far one sequence's clock is ahead of another's, when nobody knows which events are the same.

Gaps between ends are the same on all members of a group, whatever their clocks say. Of all
differences between ends of equal names the true lag has the densest crowd; in long sequences it is
the lag at the shift, found by a fast Fourier transform, at which the differences scatter least.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, UNKNOWN

_ALL_PAIRS = 250_000  # up to so many pairs of events all differences are looked at
_TRIED = 48
_SAMPLED = 2048
_ALIKE = 0.4  # least part of the names that agree at a shift worth trying
_GRAIN_NS = 1000
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
    """The lag at which the two agree best, None where times cannot tell.

    Perfectly regular work agrees at many lags: best where most of the shorter takes part, and then
    by the clocks, which are rarely an hour apart if they are of one kind.
    """
    if len(a) * len(b) <= _ALL_PAIRS:
        return _by_crowd(a, b)
    tried = [found for shift in _shifts(a, b) if (found := _at(a, b, shift)) is not None]
    if not tried:
        return None
    limit = 1.5 * min(lag.scatter_ns for lag in tried) + _GRAIN_NS
    equal = [lag for lag in tried if lag.scatter_ns <= limit]
    sign = 1 if len(a) >= len(b) else -1
    inside = [lag for lag in equal if 0 <= lag.shift * sign <= abs(len(a) - len(b))]
    nearest = min(inside or equal, key=lambda lag: abs(lag.start_ns))
    if abs(nearest.start_ns) < _ONE_HOUR_NS:
        return nearest
    return min(inside or equal, key=lambda lag: abs(lag.shift))


def _by_crowd(a: Line, b: Line) -> Lag | None:
    equal = (a.name[:, None] == b.name[None, :]) & (a.end_ns != UNKNOWN)[:, None]
    at_a, at_b = np.nonzero(equal & (b.end_ns != UNKNOWN)[None, :])
    if not len(at_a):
        return None
    apart = b.end_ns[at_b] - a.end_ns[at_a]
    order = np.argsort(apart)
    base = int(apart[order[0]])
    ahead = (apart[order] - base).astype(np.float64)
    crowd = max(1, min(len(np.unique(at_a)), len(np.unique(at_b))) // 2)
    widths = ahead[crowd - 1 :] - ahead[: len(ahead) - crowd + 1]
    dense = np.flatnonzero(widths <= 1.5 * widths.min() + _GRAIN_NS)
    center, reach = ahead[dense] + widths[dense] / 2, np.maximum(widths[dense], _GRAIN_NS) * 0.75
    low, high = np.searchsorted(ahead, center - reach), np.searchsorted(ahead, center + reach)
    fullest = np.flatnonzero(high - low == (high - low).max())
    near = np.abs(center[fullest] + base)
    if near.min() >= _ONE_HOUR_NS:  # then the ends that come first are as good as any
        near = np.abs(center[fullest] + base - float(b.end_ns[at_b[0]] - a.end_ns[at_a[0]]))
    best = fullest[int(np.argmin(near))]
    rows = order[low[best] : high[best]]
    shift = int(np.median(at_a[rows] - at_b[rows]))
    return Lag(base + round(float(center[best])), float(widths[dense[best]] / 2), shift)


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
