"""A mapping that people wrote, checked against the keys of a noun and turned into it.

Every key says which field it fills and how its value is read. Unknown keys are refused with the
nearest known one; every error names the line.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from paceline.model import InputError, quoted
from paceline.read.nearest import nearest
from paceline.read.yaml_text import Value, refused

Noun = TypeVar("Noun")


class Key(msgspec.Struct, frozen=True):
    """A key of a file: the field that it fills and how its value is read."""

    field: str
    read: Callable[[Value], Any]
    required: bool = False


def record(
    value: Value, noun: Callable[..., Noun], keys: Mapping[str, Key], what: str, where: Path
) -> Noun:
    """The noun that a mapping describes; `what` is the noun in a message."""
    content = mapping(value, what, where)
    found: dict[str, Any] = {}
    for key, given in content.items():
        if key not in keys:
            raise unknown(key, keys, what, where, given.line)
        if not given.absent:
            found[keys[key].field] = placed(keys[key].read, given, key, where)
    for key, needed in keys.items():
        if needed.required and needed.field not in found:
            raise refused(where, value.line, f"{what} without {key!r}.", cure=f"Give its {key}.")
    return noun(**found)


def mapping(value: Value, what: str, where: Path) -> dict[str, Value]:
    """The keys and values of a mapping."""
    if not isinstance(value.content, dict):
        shape = "list" if isinstance(value.content, list) else "single value"
        raise refused(
            where, value.line, f"here is a {shape} where {what} should be.",
            "Expected lines like `key: value`.",
        )  # fmt: skip
    return value.content


def unknown(key: str, keys: Mapping[str, object], what: str, where: Path, line: int) -> InputError:
    """The error for a key that does not exist, with the one that was probably meant."""
    meant = nearest(key, keys)
    return refused(
        where, line, f"{quoted(key)} is no key of {what}.",
        expected=f"Keys are {', '.join(keys)}.",
        cure=f"Did you mean {meant!r}?" if meant else "Remove it.",
    )  # fmt: skip


def placed(read: Callable[[Value], Noun], value: Value, key: str, where: Path) -> Noun:
    """What the value means; an error then names line and key."""
    try:
        return read(value)
    except InputError as error:
        if error.where:
            raise
        raise refused(
            where, value.line, f"{key}: {error.found}", error.expected, error.cure
        ) from error
