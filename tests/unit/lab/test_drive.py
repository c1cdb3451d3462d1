"""The driver: does what workers cannot do to themselves, when a worker reaches the step."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paceline.lab.drive import Driver
from paceline.lab.fault_log import read_log
from paceline.lab.prepare import prepare
from paceline.lab.progress import Progress
from paceline.model import Cluster, Faults, Link, Machine, RunError

CLUSTER = Cluster(
    machines=(Machine(name="m0", cores=2), Machine(name="m1"), Machine(name="m2")),
    links=(
        Link(a="m0", b="sw", bytes_per_s=1e6, latency_ns=1000),
        Link(a="m1", b="sw", bytes_per_s=2e6, back_bytes_per_s=1e6),
    ),
)


class Wires:
    """Notes what is asked for; can be told to fail, and which processes a machine has."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.processes: tuple[int, ...] = ()
        self.fails = False

    def limit(self, a: str, b: str, *, bytes_per_s: object, latency_ns: object, loss: object):
        self.note("limit", a, b, bytes_per_s, latency_ns, loss)

    def cut(self, a: str, b: str) -> None:
        self.note("cut", a, b)

    def heal(self, a: str, b: str) -> None:
        self.note("heal", a, b)

    def quota(self, machine: str, cores: float | None) -> None:
        self.note("quota", machine, cores)

    def pids(self, machine: str) -> tuple[int, ...]:
        return self.processes

    def start(self, machine: str) -> None:
        self.note("start", machine)

    def kill(self, machine: str) -> None:
        self.note("kill", machine)

    def note(self, *what: object) -> None:
        if self.fails:
            raise RunError("there is no such wire.")
        self.asked.append(what)


class Lab:
    """A driver, and workers that are where they are put."""

    def __init__(self, folder: Path, faults: Faults) -> None:
        prepare(folder, CLUSTER, faults)
        self.folder, self.wires = folder, Wires()
        self.table = Progress(folder)
        self.driver = Driver(self.wires, faults, folder)

    def at(self, *steps: int) -> list[tuple[object, ...]]:
        """What is asked for when the workers have reached these steps."""
        for rank, step in enumerate(steps):
            if not self.table.rows[rank, 1]:
                self.table.begin(rank, rank)
            self.table.reach(rank, step)
        self.wires.asked.clear()
        self.driver.poll()
        return list(self.wires.asked)


def test_nothing_happens_before_its_step_and_all_only_once(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().cut("sw", "m0", step=3).heal("m0", "sw", step=5))
    lab.driver.poll()
    assert lab.wires.asked == []
    assert lab.at(2, 2, 2) == []
    assert lab.at(2, 3, 2) == [("cut", "m0", "sw")]
    assert lab.at(4, 4, 4) == []
    assert lab.at(5, 4, 4) == [("heal", "m0", "sw"), ("limit", "m0", "sw", 1e6, 1000, None)]
    assert lab.at(9, 9, 9) == []
    assert [(line.step, line.what) for line in read_log(tmp_path)] == [(3, "begins"), (5, "begins")]


def test_the_last_worker_counts_if_asked(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().cut("m0", "sw", step=3, until=6, reached="last"))
    assert lab.at(3, 3, 2) == []
    assert lab.at(4, 4, 3) == [("cut", "m0", "sw")]
    assert lab.at(9, 9, 5) == []
    assert lab.at(9, 9, 6) == [("heal", "m0", "sw")]


def test_a_limit_leaves_the_rest_and_ends(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().limit("sw", "m0", step=1, until=2, bytes_per_s=500, loss=0.1))
    assert lab.at(1) == [("limit", "m0", "sw", 500, 1000, 0.1)]
    assert lab.at(2) == [("limit", "m0", "sw", 1e6, 1000, None)]


def test_a_link_of_two_rates_is_given_back_to_the_cluster(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().limit("m1", "sw", step=1, until=2, latency_ms=3))
    assert lab.at(1) == [("limit", "m1", "sw", None, 3_000_000, None)]
    assert lab.at(2) == [("limit", "m1", "sw", None, None, None)]


def test_quotas_go_back_to_the_cores_of_the_machine(tmp_path: Path) -> None:
    faults = Faults().slow(worker=0, step=1, until=3, cpu=0.3).slow(machine="m1", step=2, cpu=0.5)
    lab = Lab(tmp_path, faults)
    assert lab.at(1) == [("quota", "m0", 0.3)]
    assert lab.at(2) == [("quota", "m1", 0.5)]
    assert lab.at(3) == [("quota", "m0", 2), ("quota", "m1", None)]


def test_steps_that_were_passed_in_one_go_happen_in_order(tmp_path: Path) -> None:
    inside = Faults().limit("m0", "sw", step=0, loss=0.5)
    lab = Lab(tmp_path, Faults().phase("a", 2, inside).phase("b", 2, inside))
    asked = [loss for *_, loss in lab.at(9)]
    assert asked == [0.5, None, 0.5, None]


def test_a_machine_is_lost_and_comes_back_after_its_time(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().lose(machine="m1", step=2).rejoin(machine="m1", after_s=0.05))
    lab.at(1, 1, 1)
    assert lab.at(2, 1, 2) == [("kill", "m1")]
    assert lab.driver.ranks_lost == {1}
    time.sleep(0.06)
    assert lab.at(2, 1, 2) == [("start", "m1")]
    assert lab.driver.ranks_lost == set()


def test_each_return_follows_its_own_loss(tmp_path: Path) -> None:
    again = Faults().lose(machine="m1", step=2).rejoin(machine="m1")
    lab = Lab(tmp_path, again.lose(machine="m1", step=5).rejoin(machine="m1"))
    assert lab.at(2, 2) == [("kill", "m1")]
    assert lab.at(3, 3) == [("start", "m1")]
    assert lab.at(4, 4) == []
    assert lab.at(5, 5) == [("kill", "m1")]
    assert lab.at(6, 6) == [("start", "m1")]


def test_the_machine_of_a_worker_that_lost_itself_is_started(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().lose(worker=1, step=2).rejoin(worker=1))
    assert lab.at(2, 2) == []
    (tmp_path / "struck-0-1").touch()  # as the worker does
    assert lab.at(2, 2) == [("start", "m1")]


def test_what_fails_is_logged_and_the_rest_goes_on(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().cut("m0", "sw", step=1).heal("m0", "sw", step=2))
    lab.wires.fails = True
    lab.at(1)
    lab.wires.fails = False
    assert lab.at(2)
    assert lab.driver.failures == ["cut: {a: m0, b: sw, step: 1}: there is no such wire."]
    first, second = read_log(tmp_path)
    assert (first.failed, second.failed) == ("there is no such wire.", None)


@pytest.fixture
def sleeper() -> "subprocess.Popen[bytes]":
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait(10)


def state(process: "subprocess.Popen[bytes]") -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def becomes(process: "subprocess.Popen[bytes]", stopped: bool) -> bool:
    end = time.monotonic() + 10
    while (state(process) == "T") != stopped and time.monotonic() < end:
        time.sleep(0.005)
    return (state(process) == "T") == stopped


def test_a_machine_freezes_and_goes_on(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    lab = Lab(tmp_path, Faults().freeze(machine="m1", step=1, for_s=0.2))
    lab.wires.processes = (sleeper.pid,)
    lab.at(1)
    assert becomes(sleeper, stopped=True)
    lab.at(1)
    assert becomes(sleeper, stopped=True)
    time.sleep(0.2)
    lab.at(1)
    assert becomes(sleeper, stopped=False)
    assert [line.what for line in read_log(tmp_path)] == ["begins", "ends"]


def test_whoever_is_still_frozen_at_the_end_is_woken(
    tmp_path: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    lab = Lab(tmp_path, Faults().freeze(machine="m1", step=1, for_s=60))
    lab.wires.processes = (sleeper.pid,)
    lab.driver.start()
    lab.table.begin(0, 0)
    lab.table.reach(0, 1)
    assert becomes(sleeper, stopped=True)
    lab.driver.stop()
    assert becomes(sleeper, stopped=False)
    assert not lab.driver.thread.is_alive()


def test_a_worker_that_stopped_itself_is_woken_in_time(
    tmp_path: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    lab = Lab(tmp_path, Faults().freeze(worker=1, step=1, for_s=0.1))
    lab.table.begin(1, 1)
    lab.table.rows[1, 1] = sleeper.pid
    lab.driver.start()
    os.kill(sleeper.pid, signal.SIGSTOP)
    assert becomes(sleeper, stopped=True)
    lab.table.freeze(1, 0)
    began = time.monotonic()
    assert becomes(sleeper, stopped=False)
    assert 0.1 <= time.monotonic() - began < 5
    lab.table.freeze(1, -1)
    lab.driver.stop()


def test_following_costs_little(tmp_path: Path) -> None:
    lab = Lab(tmp_path, Faults().cut("m0", "sw", step=1000))
    lab.at(*[5] * 3)
    began = time.thread_time()
    for _ in range(100):
        lab.driver.poll()
    assert (time.thread_time() - began) / 100 < 0.001
