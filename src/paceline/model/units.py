"""Sizes, rates and times: from what people write (`16GiB`, `25Gbit`, `90m`) to integers and back.

A plain number is bytes, bytes per second or seconds. Arithmetic is exact (fractions), so that
`0.1s` is 100,000,000 ns and not one less.
"""

import re
from fractions import Fraction

from paceline.model.errors import InputError, quoted

_NUMBER = re.compile(
    r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-zµμ/]*)", re.ASCII
)
_LARGEST = 2**62

_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_BYTES = {f"{p}B": Fraction(f) for p, f in (_PREFIX | _BINARY).items()} | {"": Fraction(1)}
_BITS = {f"{p}bit": Fraction(f, 8) for p, f in (_PREFIX | _BINARY).items()}
_RATES = (
    {f"{unit}/s": f for unit, f in _BYTES.items() if unit}
    | {f"{unit}/s": f for unit, f in _BITS.items()}
    | _BITS
    | {f"{unit}ps": f for unit, f in _BITS.items()}
    | {"": Fraction(1)}
)
_SECONDS = {
    "": Fraction(1),
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "min": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}


def _exact(value: object, units: dict[str, Fraction], what: str, example: str) -> Fraction:
    if isinstance(value, int) and abs(value) > _LARGEST:  # Python does not print endless ones
        raise InputError(f"{quoted(value)} is too large.", expected=f"The largest is {_LARGEST}.")
    fine = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    text = str(value).strip() if fine else ""
    match = _NUMBER.fullmatch(text) if len(text) <= 64 else None
    if match is None or match[2] not in units:
        raise InputError(f"{quoted(value)} is not {what}.", expected=f"Write it like {example}.")
    exact = Fraction(match[1]) * units[match[2]]
    if exact < 0:
        raise InputError(
            f"{quoted(value)} is negative.", expected=f"{what.capitalize()} is 0 or more."
        )
    return exact


def _whole(exact: Fraction, value: object) -> int:
    whole = round(exact)
    if whole > _LARGEST:
        raise InputError(f"{quoted(value)} is too large.", expected=f"The largest is {_LARGEST}.")
    return whole


def parse_bytes(value: object) -> int:
    """A size in bytes, from `400MB`, `16GiB` or a plain number."""
    return _whole(_exact(value, _BYTES, "a size", "400MB or 16GiB"), value)


def parse_bytes_per_s(value: object) -> int:
    """A rate in bytes per second, from `10Gbit`, `1.2GB/s` or a plain number."""
    return _whole(_exact(value, _RATES, "a rate", "10Gbit or 1.2GB/s"), value)


def parse_duration_ns(value: object) -> int:
    """A time in nanoseconds, from `250us`, `90m`, `48h` or a plain number of seconds."""
    return _whole(_exact(value, _SECONDS, "a time", "250us, 90m or 48h") * 10**9, value)


def parse_duration_s(value: object) -> float:
    """A time in seconds, from `90m`, `48h`, `2d` or a plain number."""
    return parse_duration_ns(value) / 1e9


def show_ns(ns: float) -> str:
    """A time with three digits and the unit that suits it."""
    size = abs(ns)
    for unit, factor in (("ns", 1), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        if size < 999.5 * factor or unit == "s":
            break
    if unit == "s" and size >= 600e9:
        return _three(ns / 3600e9, "h") if size >= 7200e9 else _three(ns / 60e9, "min")
    return _three(ns / factor, unit)


def show_bytes(size: float) -> str:
    """A size with three digits in decimal units."""
    return _scaled(size, "B")


def show_bit_per_s(bytes_per_s: float) -> str:
    """A rate in bits per second, as networks are sold."""
    return _scaled(bytes_per_s * 8, "bit/s")


def _scaled(value: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G", "T"):
        if abs(value) < 999.5 or prefix == "T":
            break
        value /= 1000
    return _three(value, prefix + unit)


def _three(value: float, unit: str) -> str:
    if value == int(value) and abs(value) < 1000:
        return f"{int(value)} {unit}"
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3
    return f"{value:,.{digits}f} {unit}"
