"""A command under `paceline record`: folders, exit codes and signals, without any training."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paceline.loop import record
from paceline.model import InputError
from paceline.run.record_settings import Settings


def ran(folder: Path, code: str) -> int | None:
    return record.record([sys.executable, "-c", code], Settings(folder=folder)).exit_code


def test_the_command_gets_the_hook_and_the_settings(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = f"import os; open({str(told)!r}, 'w').write(os.environ['PACELINE_RECORD'])"
    assert ran(tmp_path / "RUN", code) == 0
    assert told.read_text() == str(tmp_path / "RUN")
    assert "PACELINE_RECORD" not in os.environ


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_exit_code_goes_on(tmp_path: Path, code: str, exit_code: int) -> None:
    assert ran(tmp_path, code) == exit_code


def test_a_folder_is_made_and_a_full_one_refused(tmp_path: Path) -> None:
    record.prepare(tmp_path / "a" / "RUN", force=False)
    assert list((tmp_path / "a" / "RUN").iterdir()) == []
    record.prepare(tmp_path / "a" / "RUN", force=False)
    with pytest.raises(InputError, match="is not empty"):
        record.prepare(tmp_path, force=False)


def test_an_earlier_recording_is_replaced_on_demand_only(tmp_path: Path) -> None:
    (tmp_path / "worker-0").mkdir()
    (tmp_path / "worker-0" / "steps.jsonl").touch()
    (tmp_path / "run.json").touch()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match="holds an earlier recording"):
        record.prepare(tmp_path, force=False)
    record.prepare(tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "RUN"):
        with pytest.raises(InputError, match="cannot be written to"):
            record.prepare(place, force=False)


@pytest.mark.parametrize(("asked", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_the_command_first(tmp_path: Path, asked: int, code: int) -> None:
    ready = tmp_path / "ready"
    endless = f"import time; open({str(ready)!r}, 'w').write(str(__import__('os').getpid()))\n"
    endless += "while True: time.sleep(0.05)"
    words = [sys.executable, "-m", "paceline", "record", "-o", str(tmp_path / "RUN"), "--"]
    process = subprocess.Popen(
        [*words, sys.executable, "-c", endless], start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 30
    while time.monotonic() < until and not (ready.exists() and ready.read_text()):
        time.sleep(0.02)
    process.send_signal(asked)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"no process of the command joined" in out
    with pytest.raises(ProcessLookupError):
        os.kill(int(ready.read_text()), 0)
