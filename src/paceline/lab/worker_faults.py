"""The faults that a worker does to itself, exactly at their step and in their phase.

What hits links, quotas or whole machines is the driver's. What kills or stops happens once in a
run, also when the worker comes back and counts from there.
"""

import contextlib
import math
import os
import signal
import time
from pathlib import Path

from paceline.lab.fault_log import happened
from paceline.lab.progress import Progress
from paceline.model import Fault, Faults, Freeze, Hang, Lose, Slow

PHASES = ("load", "forward", "backward", "update")


class WorkerFaults:
    """The schedule of one worker; `begin` each step, then ask for its phases."""

    def __init__(
        self, folder: Path, faults: Faults, rank: int, machine: str, progress: Progress
    ) -> None:
        self.folder, self.rank, self.progress = folder, rank, progress
        own = list(enumerate(faults.faults))
        self.slows = [
            fault
            for _, fault in own
            if isinstance(fault, Slow) and fault.cpu is None
            if fault.worker == rank or fault.machine == machine
        ]
        self.blows = [
            (at, fault)
            for at, fault in own
            if isinstance(fault, (Lose, Freeze, Hang)) and fault.worker == rank
        ]
        self.active: list[Slow] = []
        self.step = -1

    def begin(self, step: int) -> None:
        """Says which faults hold from now on."""
        self.step = step
        active = [f for f in self.slows if f.step <= step < (f.until or f.step + 1)]
        for fault in active:
            if fault not in self.active:
                self._log(fault, "begins")
        for fault in self.active:
            if fault not in active:
                self._log(fault, "ends")
        self.active = active

    def longer_ns(self, phase: str, how: str) -> int:
        """By how much the phase is longer in this step, in this way."""
        slow = [f for f in self.active if f.by_ns and f.how == how]
        return sum(f.by_ns or 0 for f in slow if (f.where or "backward") == phase)

    def factor(self, phase: str) -> float:
        """What the padded work of the phase is multiplied by in this step."""
        found = 1.0
        for fault in self.active:
            if fault.factor is not None and fault.where in (None, phase):
                found *= fault.factor
        return found

    def pause(self, phase: str) -> bool:
        """Stands still as long as a stall of this phase lasts; True if it did."""
        stall = self.longer_ns(phase, "stall")
        time.sleep(stall / 1e9)
        return stall > 0

    def strike(self, phase: str) -> bool:
        """Is lost, frozen or hung, if the schedule says so for this step and phase."""
        struck = False
        for at, fault in self.blows:
            if fault.step == self.step and (fault.where or "forward") == phase and self._once(at):
                struck = True
                self._log(fault, "begins")
                self._suffer(at, fault)
                self._log(fault, "ends")
        return struck

    def _suffer(self, at: int, fault: Fault) -> None:
        if isinstance(fault, Lose):
            os.kill(os.getpid(), signal.SIGKILL)
        elif isinstance(fault, Freeze):
            self.progress.freeze(self.rank, at)  # the driver wakes it
            os.kill(os.getpid(), signal.SIGSTOP)
            self.progress.freeze(self.rank, -1)
        elif isinstance(fault, Hang):
            _hang(fault.for_ns)

    def _once(self, at: int) -> bool:
        """True for the first who asks in this run."""
        with contextlib.suppress(FileExistsError):
            (self.folder / f"struck-{at}-{self.rank}").touch(exist_ok=False)
            return True
        return False

    def _log(self, fault: Fault, what: str) -> None:
        happened(self.folder, fault, what, step=self.step, worker=self.rank)


def _hang(for_ns: int | None) -> None:
    """Does nothing for so long; for good means until who started this worker is gone."""
    end = math.inf if for_ns is None else time.monotonic() + for_ns / 1e9
    parent = os.getppid()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(0.1, left))
        if os.getppid() != parent:
            os._exit(1)
