import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from paceline.cli import main
from paceline.cli.ending import guarded
from paceline.model import GoalError, InputError, ModelError, RunError


def ends(error: BaseException) -> int:
    @click.command()
    def command() -> None:
        raise error

    return guarded(command, [])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("odd"), 3),
        (ModelError("odd"), 3),
        (GoalError("odd"), 4),
        (RunError("odd"), 1),
        (click.UsageError("odd"), 2),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (FileNotFoundError(2, "No such file", "gone.json"), 3),
        (MemoryError(), 3),
        (ZeroDivisionError("odd"), 1),
        (RecursionError("odd"), 1),
    ],
)
def test_every_end_has_its_code_and_one_message(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ends(error) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert "rror: " in err


def test_a_defect_asks_to_be_reported_and_shows_its_traceback_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(ZeroDivisionError("by \x1b[31m nothing"))
    err = capsys.readouterr().err
    assert err.startswith("error: ZeroDivisionError: by \\x1b[31m nothing\n")
    assert "report" in err
    monkeypatch.setenv("PACELINE_DEBUG", "1")
    ends(ZeroDivisionError("odd"))
    assert "Traceback" in capsys.readouterr().err


def test_a_command_without_a_code_is_fine() -> None:
    assert guarded(click.command()(lambda: None), []) == 0


def test_a_reader_that_hangs_up_is_no_error() -> None:
    code = (
        "import click, sys\n"
        "from paceline.cli.ending import guarded\n"
        "@click.command()\n"
        "def command():\n"
        "    for _ in range(100000): click.echo('x' * 100)\n"
        "sys.exit(guarded(command, []))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def test_interrupted_by_the_keyboard() -> None:
    code = (
        "import click, sys, time\n"
        "from paceline.cli.ending import guarded\n"
        "@click.command()\n"
        "def command():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "sys.exit(guarded(command, []))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert b"Traceback" not in process.stderr.read()


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "paceline", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 3
    assert done.stderr == "error: No space left on device.\n"


def test_names_that_the_terminal_cannot_show() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    code = (
        "import click, sys\n"
        "from paceline.cli.ending import guarded\n"
        "sys.exit(guarded(click.command()(lambda: click.echo('µ \\u2026')), []))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert (done.returncode, done.stdout) == (0, b"\xb5 \\u2026\n")


def test_shells_complete_words() -> None:
    asked = {"_PACELINE_COMPLETE": "bash_complete", "COMP_WORDS": "paceline ins", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "paceline"], capture_output=True, text=True, env=os.environ | asked
    )
    assert done.stdout == "plain,inspect\n"


def test_a_wrong_word_names_the_usage_and_where_to_look() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paceline", "inspect"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Usage: paceline inspect [OPTIONS] RUN...\n"
        "error: Missing argument 'RUN...'. paceline inspect --help says more.\n"
    )


def test_a_hostile_file_name_that_was_taken_for_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--\x1b]0;title\x07"]) == 2
    assert "\x1b" not in capsys.readouterr().err
