"""What a single value may say: a name, a yes or no, a whole number, a number, a quantity.

Each reader takes the value as written and returns what it means, or raises an InputError without
place; the caller knows the key and the line.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from paceline.model import InputError, quoted, shown
from paceline.read.yaml_text import Value

T = TypeVar("T", int, float)

MOST = 2**62
MOST_WORKERS = 2**31 - 1  # ranks are stored in 32 bits
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LONGEST = 64


def name(value: Value) -> str:
    """A name as written: printable, not empty, at most 200 characters."""
    return _printable(value, "a name", 200)


def file_name(value: Value) -> str:
    """The path of a file as written: printable, not empty, at most 1,000 characters."""
    return _printable(value, "a file name", 1000)


def _printable(value: Value, what: str, longest: int) -> str:
    text = _scalar(value, what)
    if not text.strip() or shown(text, longest) != text:
        raise InputError(
            f"{quoted(text)} is not {what}.",
            expected=f"It has 1 to {longest} printable characters.",
        )
    return text


def flag(value: Value) -> bool:
    """True or false, in these words only."""
    text = _scalar(value, "true or false")
    if not value.plain or text not in _FLAGS:
        raise InputError(f"{quoted(text)} is neither true nor false.", cure="Write true or false.")
    return _FLAGS[text]


def whole(lowest: int, highest: int) -> Callable[[Value], int]:
    """Reads a whole number between two bounds, both allowed."""

    def read(value: Value) -> int:
        exact = _exact(_scalar(value, "a whole number"), value.plain, "a whole number")
        if exact.denominator != 1 or not lowest <= exact <= highest:
            raise InputError(
                f"{quoted(value.content)} is no whole number from {lowest} to {highest}."
            )
        return int(exact)

    return read


def number(says: str, fits: Callable[[float], bool]) -> Callable[[Value], float]:
    """Reads a finite number that fits what `says` states."""

    def read(value: Value) -> float:
        exact = _exact(_scalar(value, says), value.plain, says)
        try:
            found = float(exact)
        except OverflowError:
            found = float("nan")
        if not fits(found):
            raise InputError(f"{quoted(value.content)} is not {says}.")
        return found

    return read


def quantity(parse: Callable[[object], T], *, zero: bool) -> Callable[[Value], T]:
    """Reads a number with unit; `zero` says whether nothing at all is an answer."""
    parsed = lru_cache(maxsize=1024)(parse)  # a large table says the same few words

    def read(value: Value) -> T:
        found = parsed(_scalar(value, "a number with unit"))
        if not zero and found <= 0:
            raise InputError(f"{quoted(value.content)} is not positive.", cure="Write more than 0.")
        return found

    return read


def positive(value: float) -> bool:
    """More than nothing."""
    return value > 0


@lru_cache(maxsize=1024)
def _exact(text: str, plain: bool, what: str) -> Fraction:
    if not plain or len(text) > _LONGEST or _NUMBER.fullmatch(text) is None:
        cure = "Write a plain number." if plain else "Write the number without quotes."
        raise InputError(f"{quoted(text)} is not {what}.", cure=cure)
    return Fraction(text)


def _scalar(value: Value, what: str) -> str:
    if not isinstance(value.content, str):
        shape = "list" if isinstance(value.content, list) else "mapping"
        raise InputError(f"here is a {shape}.", expected=f"Expected {what}.")
    return value.content
