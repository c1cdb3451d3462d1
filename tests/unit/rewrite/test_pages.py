"""The page about edits lists every edit and every key, and no more."""

import re
from pathlib import Path

import pytest

from paceline import rewrite
from paceline.model import Edit
from paceline.rewrite.closed_form import ALGORITHMS
from paceline.rewrite.key import check


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "reference" / "edits.md").read_text()


def section(page: str, name: str) -> str:
    found = re.search(rf"^## `{name}`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, name
    return found[1]


def test_edits_stand_in_the_order_of_the_room(page: str):
    names = [module.NAME for module in rewrite.EDITS]
    assert re.findall(r"^## `(.*)`$", page, re.MULTILINE) == names
    assert re.findall(r"^\| \[`(.*?)`\]", page, re.MULTILINE) == names


@pytest.mark.parametrize("module", rewrite.EDITS, ids=lambda module: module.NAME)
def test_every_key_is_documented(page: str, module: rewrite.EditModule):
    keys = re.findall(r"^\| `(\w+)` \|(.*)$", section(page, module.NAME), re.MULTILINE)
    assert [name for name, _ in keys] == [key.name for key in module.KEYS]
    for (_, text), key in zip(keys, module.KEYS, strict=True):
        assert ("required" in text) == key.required


@pytest.mark.parametrize("module", rewrite.EDITS, ids=lambda module: module.NAME)
def test_every_section_shows_the_edit_and_says_when_it_refuses(
    page: str, module: rewrite.EditModule
):
    text = section(page, module.NAME)
    shown = re.findall(rf"`({module.NAME}\{{.*?\}})`", text)
    assert shown
    for example in shown:
        check(Edit.parse(example), module.KEYS)
    assert "Refused: " in text


def test_every_algorithm_has_its_formula(page: str):
    rows = re.findall(r"^\| `(\w+)`(?: \(.*\))? \|.*\|.*\|$", page, re.MULTILINE)
    assert set(ALGORITHMS) <= set(rows)
