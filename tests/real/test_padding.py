"""Real workers under the lab's hook: as fast as their machines, and with faults at their steps.

One launch of torchrun serves all: three machines, of which the last is half as fast, a schedule of
faults, and at the end a worker that is killed. What is asserted was measured by the job itself.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")

from paceline.lab.drive import Driver
from paceline.lab.fault_log import Happened, read_log
from paceline.lab.padding_report import load_report
from paceline.lab.prepare import prepare
from paceline.loop.inject import environment
from paceline.model import Cluster, Faults, Machine, MachineKind

COMPUTE_MS = 60.0
LOST = 32
CLEAN = (*range(2, 9), *range(22, 27))
FAULTS = (
    Faults()
    .slow(worker=1, step=9, until=11, by_ms=200, where="backward")
    .slow(worker=0, step=11, until=13, by_ms=200, where="forward", how="compute")
    .slow(worker=2, step=13, by_ms=200, where="load")
    .slow(worker=1, step=14, by_ms=200, where="forward", how="host")
    .slow(worker=0, step=15, by_ms=200, where="update")
    .slow(machine="m1", step=16, until=18, factor=6, where="backward")
    .freeze(worker=1, step=19, for_s=0.6)
    .hang(worker=2, step=20, for_s=0.4, where="backward")
    .lose(worker=2, step=LOST)
)
LOAD, FORWARD, BACKWARD, WAIT, UPDATE = range(5)


class Run:
    """What one launch left behind; times in ms by worker, step and part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.began = time.monotonic()
        cluster = Cluster(
            kinds=(MachineKind(name="slow", speed=0.5),),
            machines=(
                Machine(name="m0"), Machine(name="m1"), Machine(name="m2", kind="slow"),
            ),
        )  # fmt: skip
        env = prepare(folder, cluster, FAULTS, compute_ms=COMPUTE_MS, drift=0, seed=5)
        given = {**os.environ, "PADDED_FOLDER": str(folder), "PADDED_STEPS": str(LOST + 3)}
        driver = Driver(None, FAULTS, folder)  # type: ignore[arg-type]  # nothing of a network
        driver.start()
        try:
            self.done = subprocess.run(
                [sys.executable, "-m", "torch.distributed.run", "--standalone",
                 "--nproc-per-node", "3", str(Path(__file__).with_name("padded_job.py"))],
                env=environment(given, "paceline.lab.hook", **env),
                capture_output=True, text=True, timeout=120,
            )  # fmt: skip
        finally:
            driver.stop()
        self.parts = [self.read(rank) for rank in range(3)]

    def read(self, rank: int) -> list[list[float]]:
        lines = (self.folder / f"part-{rank}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        return [[(b - a) / 1e6 for a, b in pairwise(row)] for row in rows]

    def usual(self, rank: int, part: int) -> float:
        return statistics.median(self.parts[rank][step][part] for step in CLEAN)

    def longer(self, rank: int, step: int, part: int) -> float:
        return self.parts[rank][step][part] - self.usual(rank, part)

    def logged(self, kind: str) -> list[Happened]:
        return [line for line in read_log(self.folder) if line.fault.startswith(kind)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = Run(tmp_path_factory.mktemp("padded"))
    assert len(made.parts[0]) >= LOST - 1, made.done.stderr[-2000:]
    return made


@pytest.mark.parametrize(("rank", "factor"), [(0, 1), (1, 1), (2, 2)])
def test_compute_takes_as_long_as_on_the_machine(run: Run, rank: int, factor: float) -> None:
    asked = COMPUTE_MS * factor
    forward, backward = run.usual(rank, FORWARD), run.usual(rank, BACKWARD)
    assert forward + backward == pytest.approx(asked, rel=0.08)
    assert backward == pytest.approx(2 * forward, rel=0.15)


def test_steps_spread_as_they_were_drawn(run: Run) -> None:
    for rank in range(3):
        steps = {step.step: step for step in load_report(run.folder, rank).steps}
        assert len(steps) > 10  # also of the worker that was killed
        asked = [steps[step].asked_ns / 1e6 for step in CLEAN if step in steps]
        took = [
            run.parts[rank][step][FORWARD] + run.parts[rank][step][BACKWARD]
            for step in CLEAN
            if step in steps
        ]
        assert 0.001 < statistics.stdev(asked) / statistics.mean(asked) < 0.03
        off = [abs(t / a - 1) for t, a in zip(took, asked, strict=True)]
        assert statistics.median(off) < 0.05


def test_the_report_tells_how_late_steps_were(run: Run) -> None:
    report = load_report(run.folder, 0)
    assert report.exact
    assert report.compute_ms == COMPUTE_MS
    assert report.machine == "m0"
    assert 0 < report.own_share < 1
    assert 0 <= report.late_share < 0.2


def test_a_profile_shows_the_padding_where_it_is(run: Run) -> None:
    events = json.loads((run.folder / "trace.json").read_text())["traceEvents"]
    ops = [e for e in events if e.get("ph") == "X"]
    work = [e for e in ops if e["name"] == "lab::work"]
    linear = {e["tid"] for e in ops if e["name"] == "aten::linear"}
    assert {e["tid"] for e in work} == linear
    assert {e["cat"] for e in work} == {"cpu_op"}

    def inside(name: str) -> float:
        around = [e for e in ops if name in e["name"]]
        within = [
            e["dur"]
            for e in work
            if any(o["ts"] <= e["ts"] and e["ts"] + e["dur"] <= o["ts"] + o["dur"] for o in around)
        ]
        return sum(within) / 1e3 / 3  # ms a step

    forward = inside("DistributedDataParallel.forward")
    assert forward == pytest.approx(COMPUTE_MS / 3, rel=0.25)
    assert inside("autograd::engine::evaluate_function") == pytest.approx(2 * forward, rel=0.25)
    assert inside("Optimizer.step") > 0


@pytest.mark.parametrize(
    ("rank", "steps", "part", "by_ms"),
    [
        (1, {9, 10}, BACKWARD, 200),
        (0, {11, 12}, FORWARD, 200),
        (2, {13}, LOAD, 200),
        (1, {14}, FORWARD, 200),
        (0, {15}, UPDATE, 200),
        (1, {16, 17}, BACKWARD, COMPUTE_MS * 2 / 3 * 5),
        (2, {20}, BACKWARD, 400),
    ],
)
def test_a_fault_is_there_at_its_steps(
    run: Run, rank: int, steps: set[int], part: int, by_ms: float
) -> None:
    # what else runs on the machine can only add
    found = min(run.longer(rank, step, part) for step in steps)
    assert found == pytest.approx(by_ms, rel=0.15)


@pytest.mark.parametrize(
    ("rank", "part", "steps"),
    [
        (0, LOAD, set()), (1, LOAD, set()), (2, LOAD, {13}),
        (0, FORWARD, {11, 12}), (1, FORWARD, {14, 19}), (2, FORWARD, set()),
        (0, BACKWARD, set()), (1, BACKWARD, {9, 10, 16, 17}), (2, BACKWARD, {20}),
        (0, UPDATE, {15}), (1, UPDATE, set()), (2, UPDATE, set()),
    ],
)  # fmt: skip
def test_no_other_step_is_longer(run: Run, rank: int, part: int, steps: set[int]) -> None:
    assert {step for step in range(8, 22) if run.longer(rank, step, part) > 100} == steps


def test_a_slower_op_is_an_op_in_the_profile_and_a_pause_is_none(run: Run) -> None:
    report = {step.step: step for step in load_report(run.folder, 1).steps}
    assert report[9].blocked_ns / 1e6 == pytest.approx(200, abs=15)
    own = {step.step: step for step in load_report(run.folder, 0).steps}
    assert own[11].blocked_ns / 1e6 < 15
    assert (own[11].asked_ns - own[8].asked_ns) / 1e6 == pytest.approx(200, abs=8)


def test_a_frozen_worker_goes_on_when_its_time_is_over(run: Run) -> None:
    assert 590 < run.longer(1, 19, FORWARD) < 1000
    begins, ends = run.logged("freeze")
    assert (begins.what, ends.what) == ("begins", "ends")
    assert 0.6e9 <= ends.unix_ns - begins.unix_ns < 1e9


def test_a_lost_worker_is_killed_at_its_step(run: Run) -> None:
    assert len(run.parts[2]) == LOST
    assert run.done.returncode != 0
    assert f"-{signal.SIGKILL.value}" in run.done.stderr or "SIGKILL" in run.done.stderr
    (line,) = run.logged("lose")
    assert (line.worker, line.step, line.what) == (2, LOST, "begins")
