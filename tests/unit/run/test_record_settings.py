import os
from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.run.record_settings import Settings, from_environment, windows


def test_what_the_environment_says_is_what_was_asked(tmp_path: Path) -> None:
    for asked in (
        Settings(folder=tmp_path),
        Settings(folder=tmp_path, windows=(), norms=False),
        Settings(folder=tmp_path, windows=((2, 5), (7, 9))),
    ):
        assert from_environment(asked.environment()) == asked


def test_nothing_is_recorded_unless_asked_for() -> None:
    assert from_environment({}) is None
    assert from_environment({"PACELINE_RECORD": "", "PACELINE_RECORD_WINDOW": "1:2"}) is None
    assert "PACELINE_RECORD" not in os.environ


def test_a_window_has_a_folder_of_its_own_if_there_are_several(tmp_path: Path) -> None:
    one = Settings(folder=tmp_path, windows=((2, 5),))
    two = Settings(folder=tmp_path, windows=((2, 5), (7, 9)))
    assert one.window_folder((2, 5)) == tmp_path
    assert two.window_folder((7, 9)) == tmp_path / "window-1"


def test_windows_come_in_order() -> None:
    assert windows(["20:30", "0:3", "3:4"]) == ((0, 3), (3, 4), (20, 30))


@pytest.mark.parametrize("text", ["", "5", "5:", "a:b", "5:5", "9:3", "-1:4", "1:2:3", "²:3"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="Steps are counted from 0"):
        windows([text])


def test_windows_that_overlap_are_refused() -> None:
    with pytest.raises(InputError, match="1:5 and 4:6 overlap"):
        windows(["4:6", "1:5"])
