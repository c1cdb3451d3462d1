import io
import sys

import pytest

from paceline.cli.look import look


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_is_plain_and_100_wide() -> None:
    assert (look().width, look().color) == (100, False)


@pytest.mark.parametrize(
    ("variables", "width", "color"),
    [
        ({"COLUMNS": "120", "TERM": "xterm"}, 120, True),
        ({"COLUMNS": "80", "TERM": "xterm", "NO_COLOR": "1"}, 80, False),
        ({"COLUMNS": "5", "TERM": "dumb"}, 40, False),
    ],
)
def test_a_terminal_has_its_width_and_maybe_color(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], width: int, color: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Screen())
    assert (look().width, look().color) == (width, color)
