"""Where the elements of a JSON array begin and end, found without parsing them.

Brackets and commas count only outside strings; that, and how deep each stands, is worked out for
a whole piece at once. What lies between is not looked at: whoever uses an element decodes it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_BLANK = b"  "


class Structure(NamedTuple):
    """Of a text that begins inside an array: its element commas, its end, its deepest nesting."""

    commas: npt.NDArray[np.int64]
    end: int | None  # the bracket that closes the array, None if the text stops before it
    deepest: int


def structure(text: bytes) -> Structure:
    """The commas between elements and the closing bracket of an array that `text` continues."""
    marks = np.frombuffer(_without_escapes(text), dtype=np.uint8)
    inside = np.cumsum(marks == ord('"'), dtype=np.uint8) & 1
    folded = marks | 0x20  # [ and { become {, ] and } become }
    telling = (folded == ord("{")) | (folded == ord("}")) | (marks == ord(","))
    at = np.flatnonzero(telling & (inside == 0))
    kind = folded[at]
    depth = np.cumsum((kind == ord("{")).astype(np.int32) - (kind == ord("}")))
    closed = np.flatnonzero(depth < 0)
    end = None
    if len(closed):
        end = int(at[closed[0]])
        at, kind, depth = (column[: closed[0]] for column in (at, kind, depth))
    commas = at[(kind == ord(",")) & (depth == 0)]
    return Structure(commas, end, int(depth.max(initial=0)))


def deeper_than(text: bytes, limit: int) -> bool:
    """True if brackets nest deeper than `limit` in a text that begins outside strings.

    A bound by words of 64 bytes comes first: it costs little and seldom exceeds the limit.
    """
    return _bound(text) > limit and structure(text).deepest > limit


def _bound(text: bytes) -> int:
    """A number that the nesting does not exceed: in each word its openings before its closings."""
    text = _without_escapes(text)
    marks = np.frombuffer(text, dtype=np.uint8, count=len(text) // 64 * 64)
    folded = marks | 0x20
    outside = ~_prefix_parity(_words(marks == ord('"')))
    opened = np.bitwise_count(_words(folded == ord("{")) & outside).astype(np.int32)
    closed = np.bitwise_count(_words(folded == ord("}")) & outside)
    rest = text[len(marks) :]  # less than a word
    within = int((np.cumsum(opened - closed) + closed).max(initial=0))
    return within + rest.count(b"[") + rest.count(b"{")


def _without_escapes(text: bytes) -> bytes:
    """The text with escapes blanked pair by pair, so that every quote left is a real one."""
    if b"\\" not in text:
        return text
    return text.replace(b"\\\\", _BLANK).replace(b'\\"', _BLANK)


def _words(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """The mask as bits, the first in the lowest bit of the first word."""
    return np.packbits(mask, bitorder="little").view("<u8")


def _prefix_parity(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """A bit for each bit: whether an odd number of bits is set up to it (as in simdjson)."""
    parity = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        parity ^= parity << np.uint64(shift)
    count = np.bitwise_count(words)
    odd_before = np.cumsum(count, dtype=np.uint8) - count & 1
    return parity ^ (np.uint64(0) - odd_before.astype(np.uint64))
