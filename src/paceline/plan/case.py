"""What is to be planned, as numbers: job, cluster and goal brought together and checked once.

Machines that are full or to be avoided have no free slots. All times are seconds, all sizes bytes.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I32, Cluster, Goal, GoalError, InputError, Job, verify
from paceline.plan.tails import Tails
from paceline.plan.tree import Net, Tree, is_tree, net, rooted
from paceline.plan.workers import Steps, step_times, steps_law, untimed

LAWS = ("equal", "speed")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """A question to the planner."""

    job: Job
    cluster: Cluster
    net: Net
    tree: Tree | None  # None where links form cycles
    law: str
    free: I32  # slots by machine
    step_s: F64  # mean compute time of a step, by machine
    tails: Tails | None
    row: I32  # of `tails`, by machine
    gradient_bytes: float
    overlap: float
    steps: Steps
    fewest: int
    most: int

    def step_time_s(self, compute_s: F64, communication_s: F64) -> F64:
        """A step of which `overlap` of the communication can hide behind the compute."""
        shown = compute_s + (1 - self.overlap) * communication_s
        return np.maximum(shown, communication_s)

    def total_s(self, n: int, compute_s: float, communication_s: float) -> float:
        """The time to the target with n workers."""
        return self.steps.at(n) * self.step_s_of(compute_s, communication_s)

    def step_s_of(self, compute_s: float, communication_s: float) -> float:
        """One step, as a plain number."""
        shown = compute_s + (1 - self.overlap) * communication_s
        return max(shown, communication_s)


def case(
    job: Job,
    cluster: Cluster,
    goal: Goal,
    *,
    law: str | None = None,
    avoid: Collection[str] = (),
    quantiles_s: dict[str, F64] | None = None,
) -> Case:
    """The question in numbers; InputError, ModelError or GoalError where it has no answer."""
    verify(cluster)
    if not cluster.machines:
        raise InputError(
            "the cluster has no machines.",
            cure="List the machines that workers can run on; offers alone cannot be planned on.",
        )
    law = law or ("speed" if job.movable_data else "equal")
    if law not in LAWS:
        raise InputError(f"{law!r} is not a law of shares.", expected=f"It is {' or '.join(LAWS)}.")
    if job.gradient_bytes is None:
        raise InputError(
            "the size of the gradients is not known.",
            cure="Give gradient: 400MB in the job file, or plan from a profile.",
        )
    free = _free(cluster, avoid)
    network = net(cluster)
    times, tails, row = _times(job, cluster, free, quantiles_s or {})
    fewest, most = _bounds(goal, int(free.sum(dtype=np.int64)))
    return Case(
        job=job,
        cluster=cluster,
        net=network,
        tree=rooted(network, len(cluster.machines)) if is_tree(network) else None,
        law=law,
        free=free,
        step_s=times,
        tails=tails,
        row=row,
        gradient_bytes=float(job.gradient_bytes),
        overlap=job.overlap or 0.0,
        steps=steps_law(job, goal),
        fewest=fewest,
        most=most,
    )


def _free(cluster: Cluster, avoid: Collection[str]) -> I32:
    unknown = sorted(set(avoid) - {machine.name for machine in cluster.machines})
    if unknown:
        raise InputError(
            f"machine {unknown[0]!r} is to be avoided, but is not in the cluster.",
            cure="Name machines as the cluster file does.",
        )
    avoided = set(avoid)
    return np.array(
        [0 if m.name in avoided else m.slots - m.busy for m in cluster.machines], dtype=np.int32
    )


def _bounds(goal: Goal, slots: int) -> tuple[int, int]:
    """The fewest and the most workers."""
    fewest = goal.min_workers or 1
    most = slots if goal.max_workers is None else goal.max_workers
    if fewest > most and goal.max_workers is not None:
        raise InputError(
            f"min_workers {fewest} is more than max_workers {most}.",
            cure="Swap them, or leave one out.",
        )
    if slots < fewest:
        raise GoalError(
            f"the goal asks for {fewest:,} workers at least, and {slots:,} slots are free.",
            expected="Every worker takes a slot that is neither busy nor on a machine to avoid.",
            cure="Lower min_workers, or add machines or slots to the cluster.",
        )
    return fewest, min(most, slots)


def _times(
    job: Job, cluster: Cluster, free: I32, quantiles_s: dict[str, F64]
) -> tuple[F64, Tails | None, I32]:
    """Mean step times by machine, the spreads where any is known, and whose is whose."""
    times = step_times(job, cluster)
    for position in np.flatnonzero(np.isnan(times) & (free > 0)).tolist():
        raise untimed(cluster.machines[position])
    row = np.zeros(len(times), dtype=np.int32)
    if not quantiles_s:
        return times, None, row
    # one spread for one kind of another name is the reference, as its time is
    other = next(iter(quantiles_s.values())) if len(job.step_time_ns) == 1 else np.ones(11)
    # a machine's spread is its kind's, stretched to its own mean
    shapes = {
        (m.kind, float(times[at])): quantiles_s.get(m.kind or "", other)
        for at, m in enumerate(cluster.machines)
        if free[at] > 0
    }
    order = sorted(shapes, key=lambda key: (key[1], str(key[0])))
    at_row = {key: at for at, key in enumerate(order)}
    rows = [shapes[key] / ((shapes[key][:-1] + shapes[key][1:]).mean() / 2) for key in order]
    for at, machine in enumerate(cluster.machines):
        row[at] = at_row.get((machine.kind, float(times[at])), 0)
    quantiles = np.array([key[1] * shape for key, shape in zip(order, rows, strict=True)])
    return times, Tails(quantiles_s=quantiles), row
