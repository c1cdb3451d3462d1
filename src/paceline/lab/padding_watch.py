"""How much of the time that passed a thread has computed, or would have if it had had a core.

All of it, if the thread did not give up its core of its own will. Else its CPU time and the time it
waited for a core (Linux: /proc/thread-self/schedstat). So what other workers on the same cores take
counts as compute, and what it slept or waited for others does not. Where the kernel does not tell,
all time within a module counts, and none between.
"""

import os
import resource
import time
from pathlib import Path
from typing import NamedTuple

_STAT = Path("/proc/thread-self/schedstat")


class Lap(NamedTuple):
    """What passed, what of it the thread has computed, and its CPU time; nanoseconds."""

    wall: int
    own: int
    cpu: int


class Watch:
    """Laps of the thread that makes it."""

    def __init__(self, *, exact: bool = True) -> None:
        self.file = os.open(_STAT, os.O_RDONLY | os.O_CLOEXEC) if exact and _STAT.exists() else -1
        self.exact = self.file >= 0 and len(os.pread(self.file, 64, 0).split()) == 3
        self.before = self._now()

    def lap(self) -> Lap:
        """What passed since the lap before."""
        before, now = self.before, self._now()
        self.before = now
        wall, cpu = now[0] - before[0], now[1] - before[1]
        slept = self.exact and now[3] != before[3]
        return Lap(wall, min(wall, cpu + now[2] - before[2]) if slept else wall, cpu)

    def between(self) -> None:
        """Outside of modules: without exact figures, what passed since the lap before is lost."""
        if not self.exact:
            self.lap()

    def _now(self) -> tuple[int, int, int, int]:
        """Time, CPU time, time waited for a core, and how often the thread went to sleep."""
        if not self.exact:
            return time.perf_counter_ns(), time.thread_time_ns(), 0, 0
        slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        waited = int(os.pread(self.file, 64, 0).split()[1])
        return time.perf_counter_ns(), time.thread_time_ns(), waited, slept
