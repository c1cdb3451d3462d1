"""What the transfers in one direction tell of a link: rate and latency, or that they tell nothing.

Times may be off by as much as the two clocks may be; where that is as long as a transfer takes,
nothing is known. Of one size (or of sizes whose times do not tell them apart) all of the time
counts as bytes and no latency is known: the rate is then the least that the link carries.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64
from paceline.stitch.line import Line, line

_FEWEST = 3  # transfers from which anything is concluded


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A rate and its 95 % interval, in bytes per second, and the line that tells the latency."""

    bytes_per_s: float | None = None
    interval_bytes_per_s: tuple[float, float] | None = None
    latency: Line | None = None


UNTOLD = Law()


def law(size: I64 | F64, time_ns: I64, step: I64, crossed: I64, clock_ns: float) -> Law:
    """What transfers of these sizes and times tell; the clocks may differ by `clock_ns`."""
    x, y, both = (column.astype(np.float64) for column in (size, time_ns, crossed))
    if len(x) < _FEWEST or not clock_ns < np.median(y):
        return UNTOLD
    if x.min() < x.max():
        rising = line(x, y, step, both, starts=True)
        if rising is not None and _certain(rising.byte_ns, _byte_half(rising, clock_ns)):
            return _rate(rising, clock_ns, latency=rising)
        if rising is not None and _certain(rising.start_ns, _start_half(rising, clock_ns)):
            return Law(latency=rising)
    flat = line(x, y, step, both, starts=False)
    if flat is None or not _certain(flat.byte_ns, _byte_half(flat, clock_ns)):
        return UNTOLD
    return _rate(flat, clock_ns)


def latency_ns(laws: list[Law], clock_ns: float) -> tuple[int, tuple[int, int]] | None:
    """The time of a message of no bytes, with its interval; of both ways the mean.

    What one clock is ahead lengthens one way and shortens the other, so the mean is free of it.
    """
    told = [own.latency for own in laws if own.latency is not None]
    if not told:
        return None
    middle = sum(own.start_ns for own in told) / len(told)
    clock = sum(sign * own.start_clock for sign, own in zip((1, -1), told, strict=False))
    half = float(np.hypot.reduce([own.start_half_ns for own in told])) + abs(clock) * clock_ns
    low, high = middle - half / len(told), middle + half / len(told)
    if high < 0:
        return None
    return max(round(middle), 0), (max(round(low), 0), round(high))


def _certain(value: float, half: float) -> bool:
    return value - half > 0


def _byte_half(own: Line, clock_ns: float) -> float:
    return own.byte_half_ns + abs(own.byte_clock) * clock_ns


def _start_half(own: Line, clock_ns: float) -> float:
    return own.start_half_ns + abs(own.start_clock) * clock_ns


def _rate(own: Line, clock_ns: float, latency: Line | None = None) -> Law:
    half = _byte_half(own, clock_ns)
    interval = 1e9 / (own.byte_ns + half), 1e9 / (own.byte_ns - half)
    return Law(bytes_per_s=1e9 / own.byte_ns, interval_bytes_per_s=interval, latency=latency)
