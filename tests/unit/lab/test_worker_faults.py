"""What a worker does to itself: which faults are its own, when they hold, how often they strike."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paceline.lab.fault_log import read_log
from paceline.lab.progress import Progress
from paceline.lab.worker_faults import WorkerFaults
from paceline.model import Faults


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Progress.create(tmp_path)
    return tmp_path


def of(folder: Path, faults: Faults, rank: int = 1, machine: str = "m0") -> WorkerFaults:
    return WorkerFaults(folder, faults, rank, machine, Progress(folder))


def test_only_own_faults_of_the_step_count(folder: Path) -> None:
    schedule = (
        Faults()
        .slow(worker=1, step=3, until=5, by_ms=7)
        .slow(worker=2, step=3, by_ms=100)
        .slow(machine="m0", step=4, by_ms=20, where="forward")
        .slow(machine="m1", step=4, by_ms=100, where="forward")
        .slow(worker=1, step=4, by_ms=3, how="host")
    )
    own = of(folder, schedule)
    seen = []
    for step in range(2, 7):
        own.begin(step)
        seen.append((own.longer_ns("backward", "stall"), own.longer_ns("forward", "stall")))
    ms = 1_000_000
    assert seen == [(0, 0), (7 * ms, 0), (7 * ms, 20 * ms), (0, 0), (0, 0)]
    own.begin(4)
    assert own.longer_ns("backward", "host") == 3 * ms


def test_factors_multiply_what_they_name(folder: Path) -> None:
    own = of(
        folder,
        Faults().slow(worker=1, step=1, factor=2).slow(worker=1, step=1, factor=3, where="update"),
    )
    own.begin(1)
    assert [own.factor(phase) for phase in ("forward", "backward", "update")] == [2, 2, 6]
    own.begin(2)
    assert own.factor("update") == 1


def test_a_stall_lasts_as_long_as_it_says(folder: Path) -> None:
    own = of(folder, Faults().slow(worker=1, step=1, by_ms=30, where="load"))
    own.begin(1)
    began = time.monotonic()
    assert own.pause("load")
    assert 0.03 <= time.monotonic() - began < 5
    assert not own.pause("forward")


def test_begin_and_end_are_logged_once(folder: Path) -> None:
    own = of(folder, Faults().slow(worker=1, step=2, until=4, factor=2))
    for step in range(6):
        own.begin(step)
    assert [(line.what, line.step, line.worker) for line in read_log(folder)] == [
        ("begins", 2, 1),
        ("ends", 4, 1),
    ]


def test_a_hang_ends_when_its_time_is_over_and_strikes_once(folder: Path) -> None:
    schedule = Faults().hang(worker=1, step=2, where="backward", for_s=0.05)
    own = of(folder, schedule)
    own.begin(2)
    assert not own.strike("forward")
    began = time.monotonic()
    assert own.strike("backward")
    assert time.monotonic() - began >= 0.05
    assert not own.strike("backward")
    again = of(folder, schedule)  # the worker came back
    again.begin(2)
    assert not again.strike("backward")


CODE = """
import sys
from pathlib import Path
from paceline.lab.progress import Progress
from paceline.lab.worker_faults import WorkerFaults
from paceline.model import Faults
made = {{"lose": Faults().lose(worker=1, step=0),
        "freeze": Faults().freeze(worker=1, step=0, for_s=1),
        "hang": Faults().hang(worker=1, step=0)}}["{kind}"]
folder = Path(sys.argv[1])
table = Progress(folder)
table.begin(1, 0)
own = WorkerFaults(folder, made, 1, "m0", table)
own.begin(0)
own.strike("forward")
print("goes on")
"""


def worker(folder: Path, kind: str) -> subprocess.Popen[str]:
    code = CODE.format(kind=kind)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
    )


def test_a_lost_worker_says_nothing_more_but_its_fault(folder: Path) -> None:
    process = worker(folder, "lose")
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (-signal.SIGKILL, "")
    assert [line.what for line in read_log(folder)] == ["begins"]


def test_a_frozen_worker_waits_to_be_woken(folder: Path) -> None:
    process = worker(folder, "freeze")
    table = Progress(folder)
    end = time.monotonic() + 30
    while not table.frozen() and time.monotonic() < end:
        time.sleep(0.01)
    assert table.frozen() == [(1, process.pid, 0)]
    time.sleep(0.05)
    assert process.poll() is None
    os.kill(process.pid, signal.SIGCONT)
    assert process.communicate(timeout=30)[0] == "goes on\n"
    assert table.frozen() == []


def test_a_worker_that_hangs_for_good_ends_with_who_started_it(folder: Path) -> None:
    code = CODE.format(kind="hang")
    starts = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-c', {code!r}, sys.argv[1]])\n"
        "print(p.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", starts, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    end = time.monotonic() + 30
    while not read_log(folder) and time.monotonic() < end:
        time.sleep(0.01)
    assert read_log(folder)
    parent.kill()
    parent.wait(10)
    while Path(f"/proc/{pid}/cmdline").exists() and time.monotonic() < end:
        if Path(f"/proc/{pid}/cmdline").read_bytes() == b"":  # ended, not yet collected
            break
        time.sleep(0.01)
    else:
        assert not Path(f"/proc/{pid}").exists()
    parent.stdout.close()
