"""What a plan needs to know of a job, from a job file or from a profile.

A profile tells the bytes that are all-reduced in a step, and for each kind of machine the spread of
the time in which a worker has something else to do than to communicate: its ops of other kinds,
with the pause that Python or a launch puts before each.
"""

from typing import NamedTuple

import msgspec
import numpy as np

from paceline.model import (
    DECILES,
    F64,
    OPERATIONS,
    TALKING,
    InputError,
    Job,
    Kind,
    Profile,
    Spread,
    operation,
)
from paceline.plan.fit import n_crit


class Facts(NamedTuple):
    """A job, and the spread of its step by kind of machine where that is known."""

    job: Job
    spreads: dict[str, Spread]

    def quantiles_s(self) -> dict[str, F64]:
        """Deciles in seconds by kind."""
        return {kind: np.array(own.deciles_ns) / 1e9 for kind, own in self.spreads.items()}


def facts(given: Job | Profile) -> Facts:
    """What is known of the job; a profile's own job file wins over what was measured."""
    if isinstance(given, Job):
        return Facts(given, {})
    spreads = _spreads(given)
    own = given.job
    times = {kind: round(spread.mean_ns) for kind, spread in spreads.items()} | own.step_time_ns
    size = own.gradient_bytes
    fitted = n_crit(given.noise) if own.n_crit is None else None
    job = msgspec.structs.replace(
        own,
        gradient_bytes=_gradient_bytes(given) if size is None else size,
        step_time_ns=times,
        n_crit=own.n_crit if fitted is None else fitted.n_crit,
    )
    known = {kind: own for kind, own in spreads.items() if kind not in given.job.step_time_ns}
    return Facts(job, known)


def _gradient_bytes(profile: Profile) -> int:
    """What one worker all-reduces in a step."""
    graph = profile.graph
    reducing = [OPERATIONS[operation(work)] == "all_reduce" for work in graph.works]
    ops = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & np.array(reducing, bool)[graph.work])
    ops = ops[graph.size_bytes[ops] > 0]
    if not len(ops):
        raise InputError(
            "the profile shows no all-reduce of known size: nothing says what links carry.",
            cure="Record the job with two workers or more, or give gradient: SIZE in a job file.",
        )
    by_worker = np.bincount(
        np.unique(graph.worker[ops], return_inverse=True)[1], graph.size_bytes[ops].astype(float)
    )
    return int(by_worker.max())


def _spreads(profile: Profile) -> dict[str, Spread]:
    """By kind of machine, the spread over steps and workers of the time a worker is busy."""
    graph = profile.graph
    busy: dict[str, list[float]] = {}
    ops = np.flatnonzero(~np.isin(graph.kind, TALKING))
    leads = np.zeros((len(profile.kinds), len(graph.works)))
    leads[profile.leads.kind, profile.leads.work] = profile.leads.mean_ns
    for worker in profile.workers:
        own = ops[graph.worker[ops] == worker.rank]
        for line in profile.measured:
            begin = max(0, int(line.start_ns[graph.worker == worker.rank].min(initial=0)))
            start = np.maximum(begin, line.start_ns[own] - leads[worker.kind, graph.work[own]])
            took = _covered(start, line.end_ns[own].astype(np.float64))
            if took > 0:
                busy.setdefault(profile.kinds[worker.kind], []).append(took)
    levels = np.linspace(0, 1, DECILES)
    return {
        kind: Spread(
            count=len(took),
            mean_ns=float(np.mean(took)),
            deciles_ns=tuple(np.quantile(took, levels).tolist()),
        )
        for kind, took in busy.items()
    }


def _covered(start: F64, end: F64) -> float:
    """The time in which at least one op runs."""
    fine = end > start
    start, end = start[fine], end[fine]
    order = np.argsort(start)
    start, latest = start[order], np.maximum.accumulate(end[order])
    if not len(start):
        return 0.0
    before = np.concatenate([[start[0]], latest[:-1]])
    return float(np.maximum(0, latest - np.maximum(start, before)).sum())
