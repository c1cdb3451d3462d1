import io
import sys

import pytest

from paceline.cli import waiting as module
from paceline.cli.waiting import waiting


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_within_the_first_second(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with waiting("Reading"):
        pass
    assert screen.getvalue() == ""


def test_after_that_one_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(module, "PATIENCE_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with waiting("Reading [bold]"):
        for _ in range(500):
            if "Reading [bold]" in screen.getvalue():
                break
            module.threading.Event().wait(0.01)
    assert "Reading [bold]" in screen.getvalue()


def test_never_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    module.PATIENCE_S, before = 0.0, module.PATIENCE_S
    with waiting("Reading"):
        module.threading.Event().wait(0.05)
    module.PATIENCE_S = before
    assert capsys.readouterr().err == ""


def test_the_first_compilation_is_told_once_and_kept_code_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import numba

    if numba.config.DISABLE_JIT:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    monkeypatch.setattr(module, "COMPILING", "Compiling.")
    with waiting("Reading"):
        first, second = (numba.njit(lambda x: x + 1) for _ in range(2))
        first(1)
        second(1)
    assert capsys.readouterr() == ("", "Compiling.\n")
    with waiting("Reading"):
        first(1)
    assert capsys.readouterr() == ("", "")
