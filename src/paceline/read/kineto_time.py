"""Microseconds as Kineto writes them, to whole nanoseconds without loss.

Whole microseconds are exact. A decimal number of microseconds with three digits behind the point
is a whole number of nanoseconds, but as a double it is off by up to half a unit in the last place:
less than half a nanosecond only below 2^43 µs (101 days). Larger ones, such as microseconds since
1970 with decimals (torch 2.2 and 2.3), are taken from their text.
"""

import re
from decimal import Decimal, InvalidOperation

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I64

EXACT_US = 2.0**43  # below, half a unit in the last place is 2^-11 µs = 0.488 ns
LATEST_NS = 7_258_118_400_000_000_000  # the year 2200
_LATEST_US = LATEST_NS // 1000
# possessive, so that one number of another kind ends the search at once; up to 6.9e15 µs
_THREE_DECIMALS = re.compile(rb"(?:(?:\d{1,15}+|[0-6]\d{15}+)\.\d{3} )*+")


def ns_of_doubles(us: F64) -> I64:
    """Nanoseconds of microseconds below EXACT_US (either side of 0); NaN becomes -1.

    The whole part is split off first (exactly), since 1000 * us would round a second time.
    """
    known = np.where(np.isfinite(us), us, -0.001)
    whole = np.floor(known)
    return whole.astype(np.int64) * 1000 + np.rint((known - whole) * 1000).astype(np.int64)


def ns_of_texts(texts: list[bytes]) -> I64:
    """Nanoseconds of JSON numbers by their text; -1 for what is no time from 1970 to 2200."""
    joined = b" ".join(texts) + b" "
    if _THREE_DECIMALS.fullmatch(joined):
        return np.array(joined.replace(b".", b"").split(), dtype=np.int64)
    found = [ns_of_number(text.decode("utf-8", "replace")) for text in texts]
    return np.array([-1 if ns is None else ns for ns in found], dtype=np.int64)


def ns_of_number(us: object) -> int | None:
    """Nanoseconds of one number or numeric text; None if it is no time from 1970 to 2200."""
    if isinstance(us, bool) or not isinstance(us, (int, Decimal, str)):
        return None
    if isinstance(us, str) and len(us) > 64:
        return None
    try:
        exact = Decimal(us)
    except InvalidOperation:
        return None
    if not exact.is_finite() or not 0 <= exact <= _LATEST_US:
        return None
    return int((exact * 1000).to_integral_value())


def whole_us_ns(us: npt.NDArray[np.int64]) -> I64:
    """Nanoseconds of whole microseconds; -1 for what lies outside 1970 to 2200."""
    return np.where((us >= 0) & (us <= _LATEST_US), us, 0) * 1000 - ((us < 0) | (us > _LATEST_US))
