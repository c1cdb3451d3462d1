"""Mappings to nouns by their keys."""

from pathlib import Path

import msgspec
import pytest

from paceline.model import InputError
from paceline.read.record import Key, record
from paceline.read.scalar import name, whole
from paceline.read.yaml_text import parsed

HERE = Path("box.yaml")
KEYS = {"name": Key("name", name, required=True), "size": Key("count", whole(0, 9))}


class Box(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    count: int | None = None


def box(text: str) -> Box:
    return record(parsed(text, HERE), Box, KEYS, "a box", HERE)


def test_keys_fill_their_fields():
    assert box("{name: a, size: 3}") == Box(name="a", count=3)


def test_what_is_null_is_not_known():
    assert box("{name: a, size: ~}") == box("name: a") == Box(name="a")


@pytest.mark.parametrize(
    ("text", "found", "cure"),
    [
        ("name: a\nsiz: 3", "line 2: 'siz' is no key of a box.",
         "Keys are name, size. Did you mean 'size'?"),
        ("name: a\nzzzz: 3",
         "line 2: 'zzzz' is no key of a box.", "Keys are name, size. Remove it."),
        ("size: 3", "line 1: a box without 'name'.", "Give its name."),
        ("name: ~", "line 1: a box without 'name'.", "Give its name."),
        ("- name",
         "line 1: here is a list where a box should be.", "Expected lines like `key: value`."),
        ("name: a\nsize: x", "line 2: size: 'x' is not a whole number.", "Write a plain number."),
    ],
)  # fmt: skip
def test_errors_say_line_key_and_cure(text: str, found: str, cure: str):
    with pytest.raises(InputError) as caught:
        box(text)
    assert str(caught.value) == f"box.yaml: {found}\n{cure}"


def test_a_key_that_is_an_escape_is_shown_harmless():
    with pytest.raises(InputError) as caught:
        box('"\\e[31m": 1')
    assert "\x1b" not in str(caught.value)
