from pathlib import Path

import click
import pytest

from paceline.cli import paceline as door
from paceline.cli.settings import settings
from paceline.model import InputError


def found(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, object]:
    monkeypatch.chdir(folder)
    return settings(door, click.Context(door))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("paceline.toml", '[inspect]\nformat = "md"\n'),
        ("pyproject.toml", '[tool.paceline.inspect]\nformat = "md"\n'),
    ],
)
def test_both_files_hold_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    deeper = tmp_path / "a" / "b"
    deeper.mkdir(parents=True)
    assert found(monkeypatch, deeper) == {"inspect": {"format": "md"}}


def test_the_nearest_file_counts_and_others_pyprojects_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "paceline.toml").write_text('[demo]\nformat = "md"\n')
    nearer = tmp_path / "nearer"
    nearer.mkdir()
    (nearer / "pyproject.toml").write_text("[tool.other]\n")
    assert found(monkeypatch, nearer) == {"demo": {"format": "md"}}
    (nearer / "pyproject.toml").write_text("this is no TOML")
    assert found(monkeypatch, nearer) == {"demo": {"format": "md"}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[inspect]\nformt = 'md'\n", "format"),
        ("[inspct]\nformat = 'md'\n", "inspect"),
        ("format = 'md'\n", "inspect"),
        ("[inspect]\nas_json = true\n", "format"),
        ("[inspect]\nformat = \n", "cannot be read"),
        ("x = " + "[" * 5000, "cannot be read"),
    ],
)
def test_what_is_no_flag_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    (tmp_path / "paceline.toml").write_text(text)
    with pytest.raises(InputError, match=told) as caught:
        found(monkeypatch, tmp_path)
    assert "paceline.toml" in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paceline.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError):
        found(monkeypatch, tmp_path)


def test_a_table_that_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\npaceline = 3\n")
    with pytest.raises(InputError, match=r"tool\.paceline"):
        found(monkeypatch, tmp_path)
