"""What got slower or faster between two runs of one job, where, and whether it is more than noise.

Steps of one run hang together (clocks, heat, neighbors drift), so they are averaged in blocks as
long as the square root of their number, and the blocks are the sample. The largest 2 % of steps on
either side are cut to the next below, so that one pause is no regression.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from paceline.model import UNKNOWN, Change, Comparison, Kind, ModelError, Profile

F64 = npt.NDArray[np.float64]
ALIKE = 0.5  # of the works that both must share to be one job
ERROR = 5e-4  # how often equal runs may look different
FEWEST = 6  # steps of a run below which nothing is said


def compared(before: Profile, after: Profile) -> Comparison:
    """The change of the step, and of each part of it that changed by more than noise."""
    _same_job(before, after)
    steps = [
        _cut(np.array([line.step_ns for line in run.measured], float)) for run in (before, after)
    ]
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


def _cut(values: F64) -> F64:
    """The values with their outermost 2 % cut to the next inside."""
    return np.clip(values, *np.quantile(values, (0.02, 0.98))) if len(values) else values


def _change(what: str, old: F64, new: F64, whole: float, tests: int) -> tuple[Change, bool]:
    (mean_old, error_old, free_old), (mean_new, error_new, free_new) = _blocks(old), _blocks(new)
    error = float(np.hypot(error_old, error_new))
    freedom = min(free_old, free_new)
    half = float(stdtrit(freedom, 0.975)) * error
    gain = mean_new - mean_old
    certain = abs(gain) > float(stdtrit(freedom, 1 - ERROR / 2 / tests)) * error
    change = Change(
        what=what,
        before_ns=mean_old,
        after_ns=mean_new,
        change=gain / whole,
        interval=((gain - half) / whole, (gain + half) / whole),
    )
    return change, certain and gain != 0


def _blocks(values: F64) -> tuple[float, float, int]:
    """Mean, its standard error from means of blocks, and how many blocks vary freely."""
    blocks = int(np.clip(len(values) ** 0.5 * 1.5, 3, 40))
    means = np.array([part.mean() for part in np.array_split(values, blocks)])
    return float(values.mean()), float(means.std(ddof=1)) / blocks**0.5, blocks - 1


def _parts(before: Profile, after: Profile) -> dict[str, tuple[F64, F64]]:
    """Time per step by worker and kind of op, for workers that both runs have."""
    workers = set(before.graph.workers) & set(after.graph.workers)
    tables = [_by_worker_and_kind(run) for run in (before, after)]
    return {
        f"worker {worker}: {kind}": (_cut(tables[0][worker, kind]), _cut(tables[1][worker, kind]))
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
