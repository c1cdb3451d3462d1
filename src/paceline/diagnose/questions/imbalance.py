"""Whether the work itself is dealt out unevenly, though no worker is slow at it.

Two ways: workers that do different work (stages of a pipeline) with different amounts of it; and
workers of the same work whose amounts vary from step to step (lengths of sequences), so that each
step waits for another one. Slow workers are another question's.
"""

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.model import Cause, Finding, Kind

F64 = npt.NDArray[np.float64]

NAME = "imbalance"
CODES = (
    Code(
        code="PL401",
        rule="uneven-work",
        title="Workers have unequal amounts of work",
        text="Some workers have more to compute than others (stages of a pipeline, uneven"
        " batches, sequences of different length), and the others wait. Move layers between"
        " stages, sort or pack samples by length, or share out samples by cost.",
    ),
)
LEAST_STAGES, LEAST_SAMPLES = 0.05, 0.10  # of a step; the ordinary noise of steps costs some


def ask(case: Case) -> list[Finding]:
    """At most one finding: unequal stages, or unequal samples."""
    graph = case.graph
    if len(graph.workers) < 2:
        return []
    compute = np.isin(graph.kind, (Kind.COMPUTE, Kind.COPY))
    column = np.searchsorted(np.sort(graph.workers), graph.worker)
    load = np.stack(
        [
            np.bincount(column, row * compute, minlength=len(graph.workers))
            for row in case.fair_duration
        ]
    )
    if not (load > 0).all():
        return []
    stages = np.unique(graph.work[compute]).size > 1.5 * _distinct(case, compute)
    if stages:
        factor = load.mean(axis=0).mean() / load.mean(axis=0)
        evened = np.where(compute, case.fair_duration * factor[column], case.fair_duration)
        return _finding(case, evened, LEAST_STAGES, "stages", load.mean(axis=0))
    factor = load.mean(axis=1, keepdims=True) / load
    evened = np.where(compute, case.fair_duration * factor[:, column], case.fair_duration)
    return _finding(case, evened, LEAST_SAMPLES, "samples", load.max(axis=0))


def _distinct(case: Case, compute: npt.NDArray[np.bool_]) -> float:
    """How many works a worker has on average."""
    graph = case.graph
    pairs = graph.worker[compute].astype(np.int64) << 32 | graph.work[compute]
    return np.unique(pairs).size / len(graph.workers)


def _finding(case: Case, evened: F64, least: float, what: str, load: F64) -> list[Finding]:
    cost = case.regained_by_all(evened)
    if not cost.sure(1, least * case.step_ns):
        return []
    order = sorted(case.graph.workers)
    most, fewest = order[int(np.argmax(load))], order[int(np.argmin(load))]
    ratio = float(load.max() / load.min())
    return [
        Finding(
            code="PL401",
            rule="uneven-work",
            subject="the whole job",
            worker=None,
            cause=Cause.IMBALANCE,
            cost_ns=cost.value,
            interval_ns=cost.interval,
            evidence=(
                f"unequal {what}: worker {most} has {ratio:.2f} times the work of worker {fewest}",
            ),
            advice="Move layers between stages, or share out samples by their cost.",
        )
    ]
