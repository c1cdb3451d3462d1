"""What an edit may be told: its keys, and the arguments of one use checked against them.

Each edit lists its keys as records; the command line's help, the docs and the check of what a user
wrote all read the same list.
"""

import difflib
import enum
import math
from collections.abc import Sequence

import msgspec

from paceline.model import Edit, InputError, parse_bytes

_LONGEST = 64  # comparing words is quadratic in their length, and no word of ours is longer
_NAMED = 8


class Takes(enum.StrEnum):
    """What a key's value is."""

    WORKER = "a worker's rank"
    COUNT = "a whole number, 1 or more"
    FACTOR = "a number above 0"
    SIZE = 'a size in bytes, 1 or more, or text like "25MiB"'
    WORD = "a word"


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key of an edit; `one_of` lists the words that it takes, where they are few."""

    name: str
    takes: Takes
    says: str
    required: bool = False
    one_of: tuple[str, ...] = ()


def nearest(word: str, known: Sequence[str]) -> str:
    """The known word most like `word`; empty when none comes near."""
    found = difflib.get_close_matches(word[:_LONGEST], known, n=1, cutoff=0.5)
    return found[0] if found else ""


def listed(names: Sequence[object], longest: int = _NAMED) -> str:
    """The names in a row, cut after some."""
    shown = ", ".join(str(name) for name in names[:longest])
    return shown + (f" and {len(names) - longest} more" if len(names) > longest else "")


def unknown(word: str, what: str, known: Sequence[str], where: object) -> InputError:
    """The error for a word that is none of those known."""
    guess = nearest(word, known)
    return InputError(
        f"{word!r} is no {what}.",
        where=where,
        expected=f"Known: {listed(known, 16)}.",
        cure=f"Did you mean {guess!r}?" if guess else "",
    )


def check(edit: Edit, keys: Sequence[Key]) -> None:
    """Raises InputError unless the edit's arguments are what its keys take."""
    names = [key.name for key in keys]
    for name, _ in edit.arguments:
        if name not in names:
            if not names:
                raise InputError(
                    f"the key {name!r} is not known.",
                    where=edit,
                    expected=f"{edit.name} takes no keys.",
                    cure=f"Write {edit.name}{{}}.",
                )
            raise unknown(name, f"key of {edit.name}", names, edit)
    for key in keys:
        if edit.get(key.name) is not None:
            _check_value(edit, key)
        elif key.required:
            raise InputError(
                f"the key {key.name!r} is missing.",
                where=edit,
                expected=f"{key.name} is {key.takes}: {key.says}.",
            )


def _check_value(edit: Edit, key: Key) -> None:
    value = edit.get(key.name)
    whole = isinstance(value, int) and not isinstance(value, bool)
    match key.takes:
        case Takes.WORKER:
            fine = whole and int(value or 0) >= 0
        case Takes.COUNT:
            fine = whole and int(value or 0) >= 1
        case Takes.FACTOR:
            fine = whole or isinstance(value, float)
            fine = fine and math.isfinite(float(value or 0)) and float(value or 0) > 0
        case Takes.SIZE:
            fine = not isinstance(value, bool) and parse_bytes(value) >= 1
        case Takes.WORD:
            fine = not isinstance(value, bool)
    if not fine:
        raise InputError(
            f"{key.name}={value} cannot be.", where=edit, expected=f"It is {key.takes}: {key.says}."
        )
    if key.one_of and str(value) not in key.one_of:
        raise unknown(str(value), key.name, key.one_of, edit)


def whole(edit: Edit, name: str) -> int | None:
    """A checked whole number or size, or None where it is not given."""
    value = edit.get(name)
    return None if value is None else parse_bytes(value)


def number(edit: Edit, name: str) -> float:
    """A checked number that must be given."""
    return float(edit.get(name) or 0)


def word(edit: Edit, name: str) -> str | None:
    """A checked word, or None; a layer named 0 parses as a number and is a word here."""
    value = edit.get(name)
    return None if value is None else str(value)
