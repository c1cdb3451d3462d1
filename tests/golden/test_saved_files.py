"""Files that earlier versions saved: they load, and what is saved of them loads equal."""

from pathlib import Path

import pytest

from paceline.model import load, save
from paceline.model.file import NOUNS

SAVED = sorted((Path(__file__).parent / "saved").glob("*.json"))


def test_every_noun_has_a_file():
    assert {path.stem.partition("_")[0] for path in SAVED} == set(NOUNS)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_saved_file_loads(path: Path, tmp_path: Path):
    noun = NOUNS[path.stem.partition("_")[0]]
    loaded = load(path, noun)
    save(loaded, tmp_path / "again.json")
    assert load(tmp_path / "again.json", noun) == loaded
