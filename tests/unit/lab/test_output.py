import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from paceline.lab.output import KEPT, Output

Captured = pytest.CaptureFixture[str]


def printed(output: Output, machine: str, code: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output.follow(machine, process)
    process.wait(30)
    output.settle(machine)


def test_lines_bear_the_name_of_their_machine(capsys: Captured) -> None:
    output = Output(["m0", "long"], "all")
    printed(output, "m0", "import sys; print('a\\nb'); sys.stderr.write('c\\xff')")
    out, err = capsys.readouterr()
    assert out == "m0   | a\nm0   | b\n"
    assert err.startswith("m0   | c")


def test_hidden_lines_are_kept_all_the_same(capsys: Captured) -> None:
    output = Output(["m0", "m1"], "first")
    printed(output, "m1", "for n in range(40): print(n)")
    assert capsys.readouterr().out == ""
    assert output.last("m1") == tuple(str(n) for n in range(40 - KEPT, 40))


def test_a_full_disk_is_told_once_and_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output(["m0"], "all")
    full = Path("/dev/full").open("w")  # noqa: SIM115  closing it fails, as it should
    monkeypatch.setattr(sys, "stdout", full)
    printed(output, "m0", "print('x' * 100)")
    monkeypatch.undo()
    assert output.failure is not None
    assert "space" in str(output.failure)
    with suppress(OSError):
        full.close()
