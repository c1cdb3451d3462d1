"""Where in a step a worker's faults strike: in the middle of a phase, or spread over its ops.

The middle is that of the step before; whatever a phase was too short for happens at its end.
"""

import time

from paceline.lab.worker_faults import WorkerFaults


class Pauses:
    """The faults of one worker, placed in the steps that it takes."""

    def __init__(self, faults: WorkerFaults) -> None:
        self.faults = faults
        self.calls = {"forward": 0, "backward": 0}  # of the step before
        self.costs = {"forward": 0.0, "backward": 0.0}
        self.struck: set[str] = set()
        self.given: set[str] = set()
        self.overslept = 0

    def load(self) -> None:
        """A batch is about to be loaded."""
        if "load" not in self.struck:
            self._strike("load")

    def update(self) -> None:
        """The update begins."""
        if "update" not in self.struck:
            self._strike("update")

    def reached(self, phase: str, call: int) -> bool:
        """A phase is at its n-th call; True if something happened."""
        if phase in self.struck or call < self.calls[phase] // 2:
            return False
        return self._strike(phase)

    def rest(self, phase: str) -> None:
        """A phase ends."""
        if phase not in self.struck:
            self._strike(phase)

    def _strike(self, phase: str) -> bool:
        self.struck.add(phase)
        struck = self.faults.strike(phase)
        return self.faults.pause(phase) or struck

    def between_ops(self, phase: str) -> bool:
        """Sleeps for this op's part of what the host is slower; True if there is any."""
        longer = self.faults.longer_ns(phase, "host")
        if longer:
            asked = longer // max(1, self.calls[phase]) - self.overslept
            began = time.perf_counter_ns()
            time.sleep(max(0, asked) / 1e9)
            self.overslept = time.perf_counter_ns() - began - asked
        return longer > 0

    def compute_ns(self, phase: str, cost: float) -> int:
        """What this op computes longer: its part, or all where parts are not known."""
        longer = self.faults.longer_ns(phase, "compute")
        whole = self.costs.get(phase, 0.0)
        if longer and whole:
            return round(longer * cost / whole)
        first = phase not in self.given
        self.given.add(phase)
        return longer if first else 0

    def end(self, calls: dict[str, int], costs: dict[str, float]) -> None:
        """A step ends that had so many calls of such costs."""
        self.calls, self.costs = calls, costs
        self.struck.clear()
        self.given.clear()
        self.overslept = 0
