"""Two files of one worker from one profiler: two windows of its run, or one window twice.

Windows follow each other in time. What overlaps is the same window twice (a copy, or two jobs in
one folder), and adding it up would count everything double.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from paceline.model import InputError, Trace

SINGLE = ("kineto",)  # tools that date all events and write those of one time into one file


def refuse_twins(placed: Sequence[tuple[Path, Trace]]) -> None:
    """Nothing, if each worker's files of one profiler follow each other; else InputError."""
    by_worker: dict[tuple[int, str], list[tuple[int, int, Path]]] = {}
    for path, trace in placed:
        tool = trace.sources[0].tool if trace.sources else None
        if tool in SINGLE and len(trace):
            first, last = _span(trace)
            by_worker.setdefault((trace.worker, tool), []).append((first, last, path))
    for (worker, _), windows in by_worker.items():
        windows.sort(key=lambda window: window[:2])
        for before, after in pairwise(windows):
            if after[0] < before[1] or after[0] == before[0]:
                raise InputError(
                    f"worker {worker} is here twice: also in {before[2]}.",
                    where=after[2],
                    expected="Files of one worker must not overlap in time.",
                    cure="Remove one of the two, or name the files of one run.",
                )


def _span(trace: Trace) -> tuple[int, int]:
    return int(np.min(trace.start_ns)), int(np.max(trace.start_ns))
