"""Padding without torch and without time: what a worker is padded by, phase by phase."""

from pathlib import Path

import pytest

from paceline.lab import padding, pauses
from paceline.lab.fault_log import read_log
from paceline.lab.lab_file import load_lab
from paceline.lab.padding import Padding
from paceline.lab.padding_report import PaddedStep, load_report
from paceline.lab.padding_watch import Lap
from paceline.lab.prepare import prepare
from paceline.model import Cluster, Faults, Machine, RunError

MS = 1_000_000


class Worker:
    """A padded worker on a clock of its own: computing and working move it, nothing else does."""

    exact = True

    def __init__(
        self,
        folder: Path,
        faults: Faults | None = None,
        compute_ms: float | None = 60.0,
        speed: float = 1.0,
    ) -> None:
        cluster = Cluster(machines=(Machine(name="m0", speed=speed),))
        prepare(
            folder, cluster, faults or Faults(), compute_ms=compute_ms, spread=0, drift=0, seed=1
        )
        self.now = self.own = self.passed = self.passed_own = 0
        self.worked: list[int] = []
        self.padding = Padding(
            folder, load_lab(folder), rank=0, workers=1, machine=None, work=self.work,
            watch=lambda: self,  # type: ignore[arg-type, return-value]
        )  # fmt: skip

    def perf_counter_ns(self) -> int:
        return self.now

    def process_time_ns(self) -> int:
        return self.own

    def monotonic(self) -> float:
        return self.now / 1e9

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)

    def work(self, owed: int) -> None:
        self.worked.append(owed)
        self.now += owed

    def compute(self, ns: int) -> None:
        self.now += ns
        self.own += ns

    def lap(self) -> Lap:
        lap = Lap(self.now - self.passed, self.own - self.passed_own, self.own - self.passed_own)
        self.passed, self.passed_own = self.now, self.own
        return lap

    def between(self) -> None:
        pass

    def step(self, *costs: float, own: int = 1 * MS, backward_own: int = 2 * MS) -> dict[str, int]:
        """One step of modules of these costs; how long its phases took."""
        self.worked.clear()
        begun = self.now
        self.padding.enter(top=True)
        for cost in costs:
            self.padding.enter(top=False)
            self.compute(own)
            self.padding.leave(cost)
        self.padding.leave_top()
        forward = self.now
        for call in reversed(range(len(costs))):
            self.padding.backward(call, 2 * costs[call])
            self.compute(backward_own)
        self.padding.backward_ended()
        backward = self.now
        self.padding.update()
        self.compute(1 * MS)
        self.padding.updated(0.0, ends=True)
        return {"forward": forward - begun, "backward": backward - forward,
                "update": self.now - backward}  # fmt: skip


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(*arguments: object, **more: object) -> Worker:
        worker = Worker(tmp_path, *arguments, **more)  # type: ignore[arg-type]
        monkeypatch.setattr(padding, "time", worker)
        monkeypatch.setattr(pauses, "time", worker)
        monkeypatch.setattr("paceline.lab.worker_faults.time", worker)
        return worker

    return make


def test_the_first_step_measures_and_later_ones_are_padded(made) -> None:
    worker = made()
    assert worker.step(100, 300) == {"forward": 2 * MS, "backward": 4 * MS, "update": 1 * MS}
    assert worker.worked == []
    for _ in range(3):
        took = worker.step(100, 300)
        assert took == {"forward": 20 * MS, "backward": 40 * MS, "update": 1 * MS}


def test_modules_share_the_time_by_their_costs(made) -> None:
    worker = made()
    worker.step(100, 300)
    worker.step(100, 300)
    worker.step(100, 300)
    # forward 5 and 15 ms, of which 1 is real; backward 30 and 10, of which 2 are real
    assert worker.worked == [4 * MS, 14 * MS, 28 * MS, 8 * MS]


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_a_slower_machine_takes_longer(made, speed: float) -> None:
    worker = made(speed=speed)
    worker.step(100, 300)
    took = worker.step(100, 300)
    assert (took["forward"], took["backward"]) == (20 * MS / speed, 40 * MS / speed)


def test_twice_the_batch_takes_twice_as_long(made) -> None:
    worker = made()
    worker.step(100, 300)
    assert worker.step(200, 600)["forward"] == 40 * MS


def test_an_overrun_is_made_up_for_within_the_step(made) -> None:
    worker = made()
    worker.step(100, 300)
    worker.step(100, 300)
    took = worker.step(100, 300, own=8 * MS)  # 8 of 5 ms, then 8 of 15
    assert took["forward"] == 20 * MS
    (step,) = worker.padding.steps[-1:]
    assert (step.overrun_ns, step.late_ns, step.took_ns) == (3 * MS, 0, 60 * MS)


def test_too_much_compute_is_late_and_not_carried_into_the_next_step(made) -> None:
    worker = made()
    worker.step(100, 300)
    worker.step(100, 300)
    took = worker.step(100, 300, own=40 * MS, backward_own=30 * MS)
    assert took["forward"] + took["backward"] == 140 * MS
    assert worker.padding.steps[-1].late_ns == 80 * MS
    assert worker.step(100, 300)["forward"] == 20 * MS


def test_compute_between_modules_counts_and_sleep_does_not(made) -> None:
    worker = made()
    worker.step(100, 300)
    worker.padding.enter(top=True)
    worker.compute(3 * MS)
    worker.sleep(0.5)
    worker.padding.enter(top=False)
    worker.padding.leave(100)
    assert worker.worked[-1] == 2 * MS


def test_an_evaluation_between_is_not_made_up_for(made) -> None:
    worker = made()
    worker.step(100, 300)
    worker.step(100, 300)
    worker.padding.enter(top=True)
    worker.padding.leave(100)
    worker.padding.leave_top()
    worker.compute(500 * MS)
    worker.padding.enter(top=True)
    worker.padding.leave(600)
    assert worker.worked[-1] == 30 * MS - 15 * MS  # a quarter of a step


def test_an_update_moves_its_parameters_as_slowly(made) -> None:
    worker = made(speed=0.5)
    worker.step(100, 300)  # 1200 in all: 50 us each at speed 1
    worker.padding.enter(top=True)
    worker.padding.leave(100)
    worker.padding.backward(0, 200)
    worker.padding.backward_ended()
    worker.padding.update()
    worker.compute(1 * MS)
    before = worker.now
    worker.padding.updated(40.0, ends=True)
    assert worker.now - before == 3 * MS


def test_without_compute_ms_it_follows_from_cpu_time(made) -> None:
    worker = made(compute_ms=None)
    for _ in range(4):
        assert worker.padding.reference is None
        worker.step(100, 300)  # 7 ms of CPU time
    assert worker.padding.reference.compute_ms == 25
    worker.step(100, 300)
    assert sum(worker.step(100, 300).values()) == 25 * MS + 1 * MS


def test_a_worker_that_comes_back_is_padded_at_once(made, tmp_path: Path) -> None:
    worker = made()
    worker.step(100, 300)
    reference = worker.padding.reference
    again = Padding(
        tmp_path, load_lab(tmp_path), rank=0, workers=1, machine=None, work=worker.work,
        watch=lambda: worker,  # type: ignore[arg-type, return-value]
    )  # fmt: skip
    assert again.reference == reference
    again.begin()
    assert again.step == 1


FAULTY = [
    (Faults().slow(worker=0, step=2, by_ms=9), "backward", 9),
    (Faults().slow(worker=0, step=2, by_ms=9, where="forward"), "forward", 9),
    (Faults().slow(worker=0, step=2, by_ms=9, where="update"), "update", 9),
    (Faults().slow(worker=0, step=2, by_ms=9, how="compute"), "backward", 9),
    (Faults().slow(worker=0, step=2, by_ms=9, how="compute", where="forward"), "forward", 9),
    (Faults().slow(worker=0, step=2, by_ms=9, how="compute", where="update"), "update", 8),
    (Faults().slow(worker=0, step=2, by_ms=9, how="host"), "backward", 9),
    (Faults().slow(worker=0, step=2, by_ms=9, how="host", where="forward"), "forward", 9),
    (Faults().slow(worker=0, step=2, factor=1.5, where="forward"), "forward", 10),
    (Faults().slow(worker=0, step=2, factor=1.5, where="backward"), "backward", 20),
]


@pytest.mark.parametrize(("faults", "phase", "longer"), FAULTY, ids=[str(f) for f, *_ in FAULTY])
def test_a_fault_makes_its_phase_longer_in_its_step_only(
    made, faults: Faults, phase: str, longer: int
) -> None:
    worker = made(faults)
    took = [worker.step(100, 300) for _ in range(4)]
    usual = {"forward": 20 * MS, "backward": 40 * MS, "update": 1 * MS}
    assert took[1] == usual == took[3]
    assert took[2] == usual | {phase: usual[phase] + longer * MS}


def test_a_stall_is_in_the_middle_and_compute_is_worked(made) -> None:
    worker = made(Faults().slow(worker=0, step=2, by_ms=8, how="compute").slow(
        worker=0, step=3, by_ms=8))  # fmt: skip
    worker.step(100, 300)
    worker.step(100, 300)
    worker.step(100, 300)
    assert worker.worked == [4 * MS, 14 * MS, 34 * MS, 10 * MS]
    worker.step(100, 300)
    assert worker.worked == [4 * MS, 14 * MS, 28 * MS, 8 * MS]
    assert [step.blocked_ns for step in worker.padding.steps[2:]] == [0, 8 * MS]


def test_in_the_first_step_faults_strike_as_well(made) -> None:
    worker = made(Faults().slow(worker=0, step=0, by_ms=9).slow(
        worker=0, step=0, by_ms=30, how="compute", where="forward"))  # fmt: skip
    took = worker.step(100, 300)
    assert took["backward"] == 4 * MS + 9 * MS
    assert took["forward"] == pytest.approx(31 * MS, abs=MS)


def test_loading_waits_once_a_step(made) -> None:
    worker = made(Faults().slow(worker=0, step=0, by_ms=9, where="load"))
    worker.padding.load()
    assert worker.now == 9 * MS
    worker.padding.load()
    assert worker.now == 9 * MS
    assert [line.what for line in read_log(worker.padding.folder)] == ["begins"]


def test_two_backwards_make_one_step(made) -> None:
    worker = made()
    for _ in range(2):
        worker.padding.enter(top=True)
        worker.padding.leave(100)
        worker.padding.leave_top()
        worker.padding.backward(len(worker.worked), 200)
        worker.padding.backward_ended()
    worker.padding.update()
    worker.padding.updated(0, ends=True)
    assert worker.padding.step == 1
    worker.padding.enter(top=True)
    worker.padding.leave(100)
    assert worker.worked == [10 * MS]


def test_modules_that_are_computed_again_in_backward_take_no_time_twice(made) -> None:
    worker = made()
    worker.padding.enter(top=True)
    worker.compute(5 * MS)
    worker.padding.leave(100)
    worker.padding.leave_top()
    worker.padding.backward(0, 200)
    worker.padding.enter(top=True)
    worker.compute(5 * MS)
    worker.padding.leave(100)
    worker.padding.leave_top()
    worker.padding.backward_ended()
    assert worker.padding.took == 10 * MS


def test_the_report_holds_medians_and_steps(made, tmp_path: Path) -> None:
    worker = made()
    worker.padding.report()
    assert not (tmp_path / "padding-0.json").exists()
    for _ in range(3):
        worker.step(100, 300)
    worker.padding.report()
    report = load_report(tmp_path, 0)
    assert (report.asked_ms, report.took_ms, report.late_share) == (60, 60, 0)
    assert report.own_share == pytest.approx(0.1)
    assert report.steps[1] == PaddedStep(
        step=1, asked_ns=60 * MS, took_ns=60 * MS, own_ns=6 * MS, blocked_ns=0, late_ns=0,
        overrun_ns=0,
    )  # fmt: skip


def test_one_worker_too_many_is_refused(tmp_path: Path) -> None:
    prepare(tmp_path, Cluster(machines=(Machine(name="m0"),)), Faults())
    with pytest.raises(RunError, match="more workers than slots"):
        Padding(
            tmp_path, load_lab(tmp_path), rank=1, workers=2, machine=None, work=lambda _: None,
            watch=lambda: None,  # type: ignore[arg-type, return-value]
        )  # fmt: skip
