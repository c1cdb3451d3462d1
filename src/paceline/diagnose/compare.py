"""What got slower or faster between two runs of one job, where, and whether it is more than noise.

Steps of one run hang together (clocks, heat, neighbors drift), so they are averaged in blocks as
long as the square root of their number, and the blocks are the sample. Two means are looked at:
that of all steps (the outermost 2 % cut to the next inside, so that one pause is no regression),
and, if that is not sure, that of the middle half, which pauses in every tenth step do not blur.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paceline.model import UNKNOWN, Change, Comparison, Kind, ModelError, Profile

F64 = npt.NDArray[np.float64]
ALIKE = 0.5  # of the works that both must share to be one job
ERROR = 5e-4  # how often equal runs may look different
EDGE = 0.25  # share of steps on either side of the middle half
FEWEST = 6  # steps of a run below which nothing is said


def compared(before: Profile, after: Profile) -> Comparison:
    """The change of the step, and of each part of it that changed by more than noise."""
    _same_job(before, after)
    steps = [np.array([line.step_ns for line in run.measured], float) for run in (before, after)]
    if min(map(len, steps)) < FEWEST:
        raise ModelError(
            f"a comparison of {len(steps[0])} with {len(steps[1])} steps says nothing.",
            expected=f"Each run needs {FEWEST} steps or more.",
            cure="Record more steps.",
        )
    whole = float(steps[0].mean())
    step, certain = _change("step", steps[0], steps[1], whole, 1)
    parts = _parts(before, after)
    rows = [_change(what, old, new, whole, len(parts)) for what, (old, new) in parts.items()]
    sure = [change for change, real in rows if real and abs(change.change) >= 0.002]
    return Comparison(
        step=step,
        certain=certain,
        parts=tuple(sorted(sure, key=lambda change: -abs(change.change))),
        steps=(len(steps[0]), len(steps[1])),
        sources=(*before.sources, *after.sources),
    )


def _same_job(before: Profile, after: Profile) -> None:
    names = [{(work.name, work.layer) for work in run.graph.works} for run in (before, after)]
    shared = len(names[0] & names[1])
    if shared < ALIKE * max(min(map(len, names)), 1):
        raise ModelError(
            f"the two runs share {shared} of {min(map(len, names))} kinds of work.",
            expected="Only runs of one job can be compared.",
            cure="Check that both recordings are of the same script and model.",
        )


class _Mean(NamedTuple):
    value: float
    error: float
    freedom: int  # blocks less one


def _change(what: str, old: F64, new: F64, whole: float, tests: int) -> tuple[Change, bool]:
    """The change of all steps, or, if only that is certain, of the middle half of them."""
    of_all, certain = _tested(what, _of_all(old), _of_all(new), whole, 2 * tests)
    if certain:
        return of_all, True
    middle = _tested(f"typical {what}", _of_middle(old), _of_middle(new), whole, 2 * tests)
    return middle if middle[1] else (of_all, False)


def _tested(what: str, old: _Mean, new: _Mean, whole: float, tests: int) -> tuple[Change, bool]:
    error = float(np.hypot(old.error, new.error))
    freedom = min(old.freedom, new.freedom)
    half = float(stdtrit(freedom, 0.975)) * error
    gain = new.value - old.value
    change = Change(
        what=what,
        before_ns=old.value,
        after_ns=new.value,
        change=gain / whole,
        interval=((gain - half) / whole, (gain + half) / whole),
    )
    limit = float(stdtrit(freedom, 1 - ERROR / 2 / tests)) * error
    return change, gain != 0 and abs(gain) > limit


def _of_all(values: F64) -> _Mean:
    cut = np.clip(values, *np.quantile(values, (0.02, 0.98)))
    return _Mean(float(cut.mean()), *_by_blocks(cut))


def _of_middle(values: F64) -> _Mean:
    """The mean of the middle half; its error is that of the values cut to it (Tukey, Yuen)."""
    low, high = np.quantile(values, (EDGE, 1 - EDGE))
    inside = values[(values >= low) & (values <= high)]
    error, freedom = _by_blocks(np.clip(values, low, high))
    return _Mean(float(inside.mean()), error / (1 - 2 * EDGE), freedom)


def _by_blocks(values: F64) -> tuple[float, int]:
    """The standard error of the mean from means of blocks, and how many of them vary freely."""
    blocks = int(np.clip(len(values) ** 0.5 * 1.5, 3, 40))
    means = np.array([part.mean() for part in np.array_split(values, blocks)])
    return float(means.std(ddof=1)) / blocks**0.5, blocks - 1


def _parts(before: Profile, after: Profile) -> dict[str, tuple[F64, F64]]:
    """Time per step by worker and kind of op, for workers that both runs have."""
    workers = set(before.graph.workers) & set(after.graph.workers)
    tables = [_by_worker_and_kind(run) for run in (before, after)]
    return {
        f"worker {worker}: {kind}": (tables[0][worker, kind], tables[1][worker, kind])
        for worker, kind in tables[0]
        if worker in workers and (worker, kind) in tables[1]
    }


def _by_worker_and_kind(run: Profile) -> dict[tuple[int, str], F64]:
    graph = run.graph
    cell = graph.worker.astype(np.int64) * len(Kind) + graph.kind
    cells, back = np.unique(cell, return_inverse=True)
    table: F64 = np.stack(
        [
            np.bincount(
                back.reshape(-1),
                np.where(line.start_ns == UNKNOWN, 0, line.end_ns - line.start_ns),
                minlength=len(cells),
            )
            for line in run.measured
        ]
    ).astype(np.float64)
    return {
        (int(one) // len(Kind), str(Kind(int(one) % len(Kind)).name.lower())): table[:, at]
        for at, one in enumerate(cells)
    }
