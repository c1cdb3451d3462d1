"""A worker takes as long as its machine of the cluster would: real work, then padding to the end.

The hooks tell when modules, backward and updates begin and end; here is decided how long each is
padded and which faults strike. What the worker computes itself, also while it waits for a core,
counts towards the padding; what it waits for others does not. The first step only measures costs.
"""

import time
from collections.abc import Callable
from pathlib import Path

from paceline.lab.lab_file import LabFile
from paceline.lab.padding_account import Account
from paceline.lab.padding_draws import Draws
from paceline.lab.padding_reference import Reference, agreed, known
from paceline.lab.padding_report import PaddedStep, padded_step, save_report
from paceline.lab.padding_watch import Watch
from paceline.lab.pauses import Pauses
from paceline.lab.progress import MOST, Progress
from paceline.lab.worker_faults import WorkerFaults
from paceline.model import RunError

MEASURED = 3  # steps after the first, where the reference follows from CPU time
CARRIED = 0.25  # of a step: what is computed outside of modules and counts at most
SHORTEST_NS = 10_000  # less is left to the next module
REPORTED_S = 1.0


class Padding:
    """One worker; `work` spends time as an op does."""

    def __init__(
        self,
        folder: Path,
        lab: LabFile,
        *,
        rank: int,
        workers: int,
        machine: str | None,
        work: Callable[[int], None],
        watch: Callable[[], Watch],
    ) -> None:
        if rank >= MOST:
            raise RunError(f"worker {rank} is one too many.", expected=f"The lab has up to {MOST}.")
        self.folder, self.lab, self.rank, self.workers = folder, lab, rank, workers
        self.at = lab.machine_at(rank, machine)
        self.machine = lab.machines[self.at]
        self.work, self.new_watch = work, watch
        self.progress = Progress(folder)
        self.draws = Draws(lab.seed, rank, lab.spread, lab.drift)
        self.faults = WorkerFaults(folder, lab.faults, rank, self.machine.name, self.progress)
        self.pauses = Pauses(self.faults)
        self.reference: Reference | None = known(folder)
        self.watch: Watch | None = None
        self.first = self.step = -1
        self.expected: dict[int, float] = {}  # CPU time of the backward of each call
        self.steps: list[PaddedStep] = []
        self.cpu_ns: list[int] = []
        self.last_asked = 0
        self.report_at = 0.0
        self._clear()

    def _clear(self) -> None:
        """What is counted anew in each step."""
        self.account = Account()
        self.calls = {"forward": 0, "backward": 0}
        self.costs = {"forward": 0.0, "backward": 0.0}
        self.took = 0
        self.open = False  # from the first module to the end of backward
        self.backwards = 0
        self.call = -1  # whose backward is under way
        self.backward_began = 0
        self.top_began = 0

    def begin(self) -> None:
        """The worker trains; before that, a process may be anything."""
        if self.step < 0:
            self.first = self.step = self.progress.begin(self.rank, self.at)
            self.began_cpu = time.process_time_ns()
            self.faults.begin(self.step)
            self.draws.begin(self.step)

    def load(self) -> None:
        """The worker is about to load a batch."""
        self.begin()
        self.pauses.load()

    def enter(self, *, top: bool) -> None:
        """A module is called; `top` if by no other module."""
        self.begin()
        if self.watch is None:
            self.watch = self.new_watch()
        if top:
            self.top_began = time.perf_counter_ns()
        if not self.open:
            self.open = True
            self.watch.lap()
        elif top:
            self._between()
        self.watch.between()
        if self.pauses.reached("forward", self.calls["forward"]):
            self.watch.lap()

    def leave(self, cost: float) -> int:
        """A module that called no other is done; the number of its call in this step."""
        call = self.calls["forward"]
        self._spend()
        self._pad("forward", call, cost, 0)
        return call

    def leave_top(self) -> None:
        """A module that no other called is done."""
        if self.backward_began == 0:  # else it is computed again for a backward, which counts it
            self.took += time.perf_counter_ns() - self.top_began

    def backward(self, call: int, cost: float) -> bool:
        """The gradient of what a call returned is there; True if it is the first of a backward."""
        if self.watch is None:
            return False
        first = self.backward_began == 0
        if first:
            self.backward_began = time.perf_counter_ns()
            self._between()
            self.pauses.rest("forward")
        self._learn(self._spend())
        if self.pauses.reached("backward", self.calls["backward"]):
            self.watch.lap()
        self._pad("backward", call, cost, round(self.expected.get(call, 0)))
        self.call = call
        return first

    def backward_ended(self) -> None:
        """All gradients of a backward are there; whoever communicates may still be waited for."""
        assert self.watch is not None
        self._learn(self._spend())
        self.call = -1
        self.pauses.rest("backward")
        ahead = -self.account.behind
        if self.reference is not None and ahead > SHORTEST_NS:
            self.account.pay(0, self._work(ahead))
        self.took += time.perf_counter_ns() - self.backward_began
        self.backward_began = 0
        self.open = False
        self.backwards += 1

    def update(self) -> None:
        """The first optimizer of a step begins."""
        self.begin()
        if self.watch is None:
            self.watch = self.new_watch()
        self.pauses.update()
        self.watch.lap()

    def updated(self, cost: float, *, ends: bool) -> None:
        """An optimizer has stepped; `ends` if a step ends with it."""
        assert self.watch is not None
        owed = self._target("update", 0, cost) - self.watch.lap().own
        if owed > SHORTEST_NS:
            self.work(owed)
        if ends:
            self._end()

    def _end(self) -> None:
        cpu = time.process_time_ns()
        self.cpu_ns.append(cpu - self.began_cpu)
        self.began_cpu = cpu
        self.steps.append(padded_step(self.step, self.account, self.took))
        self.last_asked = self.account.asked or self.last_asked
        self.pauses.end(self.calls, self.costs)
        self._measure()
        self._clear()
        self.step += 1
        self.progress.reach(self.rank, self.step)
        self.faults.begin(self.step)
        self.draws.begin(self.step)
        if time.monotonic() > self.report_at:
            self.report()
            self.report_at = time.monotonic() + REPORTED_S

    def _measure(self) -> None:
        """After enough steps, what all workers agree on."""
        if self.reference is None and self.lab.padded:
            enough = 1 if self.lab.compute_ms is not None else 1 + MEASURED
            if len(self.cpu_ns) >= enough:
                cost, cpu = sum(self.costs.values()), min(self.cpu_ns[-MEASURED:])
                self.progress.measured(self.rank, cost, cpu)
                self.reference = agreed(self.folder, self.lab, self.progress, self.workers)

    def _between(self) -> None:
        """Enters what was computed since the last module: a loss does, a whole evaluation not."""
        assert self.watch is not None
        self.watch.between()
        most = round(CARRIED * max(self.last_asked, self.account.asked))
        self.account.spend(min(self.watch.lap().own, most))

    def _spend(self) -> int:
        """Enters what was computed since the lap before; its CPU time."""
        assert self.watch is not None
        passed = self.watch.lap()
        self.account.spend(passed.own)
        return passed.cpu

    def _work(self, owed: int) -> int:
        """Works for so long, if it is worth it; for how long it really was."""
        assert self.watch is not None
        if owed <= SHORTEST_NS:
            return 0
        self.work(owed)
        return self.watch.lap().wall

    def _learn(self, cpu: int) -> None:
        """The backward of the call before took so much CPU time."""
        if self.call >= 0:
            known = self.expected.get(self.call, float(cpu))
            self.expected[self.call] = known + 0.25 * (cpu - known)

    def _pad(self, phase: str, call: int, cost: float, expected: int) -> None:
        assert self.watch is not None
        if self.reference is None:
            self.account.behind = 0
        target = self._target(phase, call, cost)
        if target:
            owed = self.account.owed(target, expected)
            self.account.pay(target, self._work(owed))
        if self.pauses.between_ops(phase):
            self.watch.lap()
        self.calls[phase] += 1
        self.costs[phase] += cost

    def _target(self, phase: str, call: int, cost: float) -> int:
        """How long this takes on the worker's machine in this step."""
        target = float(self.pauses.compute_ns(phase, cost))
        if self.reference is not None:
            mean = cost * self.reference.ns_per_cost / self.machine.speed
            drawn = self.draws.factor(phase == "backward", call)
            target += mean * (drawn if phase != "update" else self.draws.drifted())
            target *= self.faults.factor(phase)
        return round(target)

    def report(self) -> None:
        """Writes padding-RANK.json, if the worker has taken a step."""
        if self.steps:
            save_report(
                self.folder, self.steps, rank=self.rank, machine=self.machine,
                compute_ms=self.reference.compute_ms if self.reference else None,
                exact=self.watch is not None and self.watch.exact,
            )  # fmt: skip
