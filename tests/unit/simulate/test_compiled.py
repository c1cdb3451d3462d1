"""Compiled code belongs to the sources of the whole room."""

from pathlib import Path

import pytest

import paceline.simulate.compiled as room
from paceline.simulate.engine import advance


def test_the_name_of_kept_machine_code_changes_with_any_file_of_the_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("compiled.py", "sharing.py"):
        (tmp_path / name).write_text("before")
    monkeypatch.setattr(room, "__file__", str(tmp_path / "compiled.py"))
    before = room.room_digest.__wrapped__()
    (tmp_path / "sharing.py").write_text("after")
    assert room.room_digest.__wrapped__() != before


def test_compiled_functions_carry_the_digest() -> None:
    assert advance.__qualname__.endswith(room.room_digest())
