"""Where each worker is: a table in shared memory that workers write and the lab's driver reads.

One row of 64-bit integers a rank, in a file of the lab's folder that all of them map. A number is
stored at once, so nobody ever reads half of one; no row is written by two workers at a time.
"""

import os
from pathlib import Path

import numpy as np

from paceline.model import RunError

NAME = "progress"
MOST = 1024  # ranks; workers beyond are not followed
STEP, PID, MACHINE, FROZEN, COST, CPU_NS, _COLUMNS = 0, 1, 2, 3, 4, 5, 8


class Progress:
    """The table. A row without a process id belongs to a worker that has not begun."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        try:
            self.rows = np.memmap(path, np.int64, "r+", shape=(MOST, _COLUMNS))
        except (OSError, ValueError) as error:
            raise RunError(f"cannot be mapped ({error}).", where=path) from error

    @staticmethod
    def create(folder: Path) -> None:
        """An empty table in the folder."""
        with (folder / NAME).open("wb") as file:
            file.truncate(MOST * _COLUMNS * 8)

    def begin(self, rank: int, machine: int) -> int:
        """Enters this process as the worker; the step that it is in.

        A worker that comes back goes on where the others are, so that no fault meets it twice.
        """
        step = int(self.rows[:, STEP].max())
        self.rows[rank, [STEP, MACHINE, FROZEN]] = step, machine, 0
        self.rows[rank, PID] = os.getpid()
        return step

    def reach(self, rank: int, step: int) -> None:
        """The worker begins this step."""
        self.rows[rank, STEP] = step

    def freeze(self, rank: int, fault: int) -> None:
        """The worker asks to be woken as this fault says; -1 when it is awake again."""
        self.rows[rank, FROZEN] = fault + 1

    def frozen(self) -> list[tuple[int, int, int]]:
        """Rank, process id and fault of all workers that wait to be woken."""
        ranks = np.flatnonzero(self.rows[:, FROZEN]).tolist()
        return [(r, int(self.rows[r, PID]), int(self.rows[r, FROZEN]) - 1) for r in ranks]

    def on(self, machine: int) -> set[int]:
        """The ranks that have begun on a machine."""
        here = (self.rows[:, PID] > 0) & (self.rows[:, MACHINE] == machine)
        return set(np.flatnonzero(here).tolist())

    def reached(self, lost: set[int]) -> tuple[int, int]:
        """The step of the worker that is furthest, and of the last; -1 before any has begun."""
        begun = self.rows[:, PID] > 0
        begun[list(lost)] = False
        steps = self.rows[begun, STEP]
        return (int(steps.max()), int(steps.min())) if steps.size else (-1, -1)

    def measured(self, rank: int, cost: float, cpu_ns: int) -> None:
        """What one step of the worker costs; the cost is written last, it says that both are."""
        self.rows[rank, CPU_NS] = cpu_ns
        self.rows[rank, COST] = max(1, round(cost))

    def costs(self, workers: int) -> tuple[list[int], list[int]] | None:
        """Cost and CPU time of each that has begun, once all of those have measured them."""
        begun = self.rows[:workers]
        begun = begun[begun[:, PID] > 0]
        if not (begun[:, COST] > 0).all():
            return None
        return begun[:, COST].tolist(), begun[:, CPU_NS].tolist()
