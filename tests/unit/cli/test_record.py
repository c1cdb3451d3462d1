import json
import sys
from pathlib import Path

import pytest

from paceline.cli import main

Captured = pytest.CaptureFixture[str]
FINE = [sys.executable, "-c", "print('trained')"]


def test_without_workers_the_page_says_why(tmp_path: Path, capfd: Captured) -> None:
    assert main(["record", "-o", str(tmp_path / "RUN"), "--", *FINE]) == 0
    out = capfd.readouterr().out
    assert "trained" in out
    assert "no process of the command joined a process group" in out


def test_json_has_stdout_for_itself(tmp_path: Path, capfd: Captured) -> None:
    crash = [sys.executable, "-c", "print('trained'); raise SystemExit(5)"]
    assert main(["record", "--json", "-o", str(tmp_path / "RUN"), "--", *crash]) == 5
    out, err = capfd.readouterr()
    assert json.loads(out)["exit_code"] == 5
    assert json.loads(out)["next"] is None
    assert "trained" in err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--", *FINE], 2, "--output"),
        (["-o", "RUN"], 2, "COMMAND"),
        (["-o", "RUN", "--", "no-such-program"], 2, "no program 'no-such-program'"),
        (["-o", "RUN", "--window", "9", "--", *FINE], 2, "'9' is no window"),
        (["-o", ".", "--", *FINE], 3, "is not empty"),
    ],
)
def test_wrong_use_starts_nothing(
    words: list[str], code: int, said: str, tmp_path: Path, capfd: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").touch()
    assert main(["record", *words]) == code
    out, err = capfd.readouterr()
    assert said in err
    assert "trained" not in out
    assert not (tmp_path / "RUN").exists()
