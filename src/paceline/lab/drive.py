"""The driver: beside a run of the lab, does the faults that workers cannot do to themselves.

It follows the workers' progress and changes links and quotas, kills and starts machines, and wakes
who was frozen, when the first (or last) worker reaches the step. All that it does stands in
faults.jsonl; what could not be done, too, and the run goes on.
"""

import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline.lab.fault_log import happened
from paceline.lab.lab_file import LabFile, load_lab
from paceline.lab.progress import Progress
from paceline.lab.wires import Wires
from paceline.model import (
    Cut,
    Fault,
    Faults,
    Freeze,
    Heal,
    Limit,
    Link,
    Lose,
    PacelineError,
    Rejoin,
    Slow,
    machine_of,
)

POLL_S = 0.005
PATIENCE_S = 10.0


Ready = Callable[[int, int], bool]  # given the steps of the first and of the last worker


@dataclass(frozen=True, slots=True)
class _Due:
    """Something to do, once it is time."""

    fault: Fault
    what: str
    ready: Ready
    act: Callable[[], None]
    step: int = 0

    def order(self) -> tuple[int, bool]:
        """In one poll, what came first is done first, and what ends before what begins."""
        return self.step, self.what == "begins"


class Driver:
    """Follows one run: `start()`, and `stop()` when it is over; `failures` says what went wrong."""

    def __init__(self, wires: Wires, faults: Faults, folder: Path) -> None:
        self.wires, self.faults, self.folder = wires, faults.faults, folder
        self.lab: LabFile = load_lab(folder)
        self.progress = Progress(folder)
        self.links = {frozenset((x.a, x.b)): x for x in self.lab.cluster.links}
        due = [due for at, fault in enumerate(self.faults) for due in self._planned(at, fault)]
        self.due = sorted(due, key=_Due.order)
        self.lost: dict[int, float] = {}  # since when, by the position of the fault
        self.ranks_lost: set[int] = set()
        self.sleeping: dict[int, float] = {}  # until when, by rank
        self.stopped: set[int] = set()
        self.failures: list[str] = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._follow, name="lab faults", daemon=True)

    def start(self) -> None:
        """Begins to follow the workers."""
        self.thread.start()

    def stop(self) -> None:
        """Follows no more, and wakes all that it has frozen."""
        self.stopping.set()
        if self.thread.ident is not None:
            self.thread.join(PATIENCE_S)
        for pid in self.stopped:
            _signal(pid, signal.SIGCONT)
        for _, pid, _ in self.progress.frozen():
            _signal(pid, signal.SIGCONT)

    def _follow(self) -> None:
        while not self.stopping.wait(POLL_S):
            self.poll()

    def poll(self) -> None:
        """Does all that is due now."""
        self._wake()
        self._notice_lost()
        first, last = self.progress.reached(self.ranks_lost)
        for due in [due for due in self.due if due.ready(first, last)]:
            self.due.remove(due)
            self._do(due, first)

    def _do(self, due: _Due, step: int) -> None:
        failed = None
        try:
            due.act()
        except (PacelineError, OSError) as error:
            failed = str(error)
            self.failures.append(f"{due.fault}: {failed}")
        happened(self.folder, due.fault, due.what, step=step, failed=failed)

    def _planned(self, at: int, fault: Fault) -> list[_Due]:
        """What the driver has to do for a fault; nothing for what workers do to themselves."""
        machine = getattr(fault, "machine", None)
        if isinstance(fault, Rejoin):
            loss, after_s = self._loss_before(at, fault), fault.after_ns / 1e9
            ready = _from(lambda: self.lost.get(loss, math.inf) + after_s)
            return [_Due(fault, "begins", ready, lambda: self._rejoin(fault))]
        if isinstance(fault, Slow) and fault.cpu is not None:
            name, cores = self._machine(fault), fault.cpu
            own = next(m.cores for m in self.lab.cluster.machines if m.name == name)
            return _lasting(
                fault, lambda: self.wires.quota(name, cores), lambda: self.wires.quota(name, own)
            )
        if isinstance(fault, Lose) and machine is not None:
            return [
                _Due(fault, "begins", _at(fault.step), lambda: self._lose(at, machine), fault.step)
            ]
        if isinstance(fault, Freeze) and machine is not None:
            return [
                _Due(
                    fault,
                    "begins",
                    _at(fault.step),
                    lambda: self._freeze(fault, machine),
                    fault.step,
                )
            ]
        if isinstance(fault, (Cut, Heal, Limit)):
            return self._of_link(fault, self.links[frozenset((fault.a, fault.b))])
        return []

    def _of_link(self, fault: Cut | Heal | Limit, link: Link) -> list[_Due]:
        if isinstance(fault, Cut):
            return _lasting(
                fault, lambda: self.wires.cut(link.a, link.b),
                lambda: self.wires.heal(link.a, link.b),
            )  # fmt: skip
        if isinstance(fault, Limit):
            return _lasting(
                fault, lambda: self._limit(link, fault), lambda: self._limit(link, None)
            )
        ready = _at(fault.step, last=fault.reached == "last")
        return [_Due(fault, "begins", ready, lambda: self._heal(link), fault.step)]

    def _heal(self, link: Link) -> None:
        self.wires.heal(link.a, link.b)
        self._limit(link, None)

    def _limit(self, link: Link, fault: Limit | None) -> None:
        """Sets what the fault says, and all else as the cluster has it."""
        rate: float | None = None if link.back_bytes_per_s is not None else link.bytes_per_s
        latency, loss = link.latency_ns, link.loss
        if fault is not None:
            rate = rate if fault.bytes_per_s is None else fault.bytes_per_s
            latency = latency if fault.latency_ns is None else fault.latency_ns
            loss = loss if fault.loss is None else fault.loss
        self.wires.limit(link.a, link.b, bytes_per_s=rate, latency_ns=latency, loss=loss)

    def _machine(self, fault: Fault) -> str:
        """The machine of a fault, or that of its worker."""
        worker = getattr(fault, "worker", None)
        if worker is not None:
            return machine_of(worker, self.lab.cluster) or ""
        return str(getattr(fault, "machine", ""))

    def _loss_before(self, at: int, rejoin: Rejoin) -> int:
        """The position of the loss that a return follows."""
        losses = [
            before
            for before, fault in enumerate(self.faults[:at])
            if isinstance(fault, Lose)
            if (fault.worker, fault.machine) == (rejoin.worker, rejoin.machine)
        ]
        return losses[-1] if losses else -1

    def _lose(self, at: int, machine: str) -> None:
        self.wires.kill(machine)
        self.lost[at] = time.monotonic()
        self.ranks_lost |= self._ranks(machine)

    def _rejoin(self, fault: Rejoin) -> None:
        machine = self._machine(fault)
        self.ranks_lost -= self._ranks(machine)
        self.wires.start(machine)

    def _notice_lost(self) -> None:
        """Workers that the schedule made kill themselves."""
        for at, fault in enumerate(self.faults):
            worker = fault.worker if isinstance(fault, Lose) and at not in self.lost else None
            if worker is not None and (self.folder / f"struck-{at}-{worker}").exists():
                self.lost[at] = time.monotonic()
                self.ranks_lost.add(worker)

    def _ranks(self, machine: str) -> set[int]:
        names = [m.name for m in self.lab.machines]
        return self.progress.on(names.index(machine))

    def _freeze(self, fault: Freeze, machine: str) -> None:
        pids = set(self.wires.pids(machine))
        for pid in pids:
            _signal(pid, signal.SIGSTOP)
        self.stopped |= pids

        def wake() -> None:
            for pid in pids:
                _signal(pid, signal.SIGCONT)
            self.stopped.difference_update(pids)

        end = time.monotonic() + fault.for_ns / 1e9
        self.due.append(_Due(fault, "ends", _from(lambda: end), wake))

    def _wake(self) -> None:
        """Workers that have stopped themselves go on when their time is over."""
        frozen = {rank: (pid, at) for rank, pid, at in self.progress.frozen()}
        for rank in set(self.sleeping) - set(frozen):
            del self.sleeping[rank]
        for rank, (pid, at) in frozen.items():
            fault = self.faults[at] if at < len(self.faults) else None
            length = fault.for_ns / 1e9 if isinstance(fault, Freeze) else 0.0
            if time.monotonic() >= self.sleeping.setdefault(rank, time.monotonic() + length):
                _signal(pid, signal.SIGCONT)


def _at(step: int, *, last: bool = False) -> Ready:
    return lambda first_step, last_step: (last_step if last else first_step) >= step


def _from(time_s: Callable[[], float]) -> Ready:
    return lambda _first, _last: time.monotonic() >= time_s()


def _lasting(
    fault: Slow | Cut | Limit, begin: Callable[[], None], end: Callable[[], None]
) -> list[_Due]:
    """Something that begins at a step and ends at another, if it ends."""
    last = not isinstance(fault, Slow) and fault.reached == "last"
    until = fault.step + 1 if isinstance(fault, Slow) and fault.until is None else fault.until
    due = [_Due(fault, "begins", _at(fault.step, last=last), begin, fault.step)]
    return due if until is None else [*due, _Due(fault, "ends", _at(until, last=last), end, until)]


def _signal(pid: int, which: signal.Signals) -> None:
    """Sends a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, which)
