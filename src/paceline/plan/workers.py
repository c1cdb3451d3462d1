"""How many steps n workers need, and how long each machine computes in one of them.

steps(n) = I_inf (1 + n_crit / n), the law of gradient noise; or samples / (n * local batch). A step
of a machine takes the job's time of its kind, else follows from relative speeds. Where a profile
has shown a whole spread, the expected maximum over several workers counts; see `tails`.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, Cluster, Goal, InputError, Job, Machine, MachineKind, ModelError


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The law of steps over the number of workers."""

    at_large_batch: float
    n_crit: float  # infinite: every worker takes its part of a fixed number of samples

    def of(self, n: F64) -> F64:
        """Steps to the target with n workers."""
        if np.isinf(self.n_crit):
            return self.at_large_batch / n
        return self.at_large_batch * (1 + self.n_crit / n)

    def at(self, n: int) -> float:
        """Steps to the target with n workers."""
        return float(self.of(np.array([n], dtype=np.float64))[0])


def steps_law(job: Job, goal: Goal) -> Steps:
    """The law that job and goal give; InputError with the cure where they do not."""
    target = goal.target
    if target is not None and target.gap is not None:
        raise InputError(
            "the target is a gap of the loss, and nothing says how many steps that takes.",
            expected="A plan needs a number of steps or of samples.",
            cure="Give target: {steps: 10000} or target: {samples: 90000000}.",
        )
    if target is not None and target.samples is not None:
        if job.local_batch is None:
            raise InputError(
                "the target is a number of samples, and the job does not say its local_batch.",
                cure="Give local_batch in the job file: samples per worker and step.",
            )
        return Steps(at_large_batch=target.samples / job.local_batch, n_crit=np.inf)
    steps = job.steps_at_large_batch
    if target is not None and target.steps is not None:
        steps = float(target.steps)
    if steps is None:
        raise InputError(
            "nothing says how many steps the job needs.",
            expected="The job gives steps_at_large_batch, or the goal target: {steps: ...}.",
            cure="Add one of them, or --steps N.",
        )
    n_crit = job.n_crit
    if n_crit is None and (goal.min_workers is None or goal.min_workers != goal.max_workers):
        raise InputError(
            "nothing says how the number of steps falls with more workers (n_crit).",
            expected="One run with gradient norms, or n_crit in the job, tells it.",
            cure="Give --n-crit, record gradient norms, or fix min_workers = max_workers.",
        )
    return Steps(at_large_batch=steps, n_crit=n_crit or 0.0)


def step_times(job: Job, cluster: Cluster) -> F64:
    """Seconds that one worker computes in a step, by machine; NaN where nothing tells it."""
    kinds = {kind.name: kind for kind in cluster.kinds}
    reference = next(
        (
            ns * (kinds[name].speed or 1.0)
            for name, ns in job.step_time_ns.items()
            if name in kinds and kinds[name].speed is not None
        ),
        None,
    )
    known: dict[str | None, float] = {
        machine: _time_ns(job, kinds, machine, reference)
        for machine in {machine.kind for machine in cluster.machines}
    }
    return np.array([known[m.kind] / (m.speed or 1.0) / 1e9 for m in cluster.machines])


def _time_ns(
    job: Job, kinds: dict[str, MachineKind], kind: str | None, reference: float | None
) -> float:
    if kind is not None and kind in job.step_time_ns:
        return float(job.step_time_ns[kind])
    speed = kinds[kind].speed if kind is not None and kind in kinds else None
    if speed is not None and reference is not None:
        return reference / speed
    if len(job.step_time_ns) == 1 and (kind is None or speed is not None):
        # one time for one kind that has no speed of its own: it is the reference
        return next(iter(job.step_time_ns.values())) / (speed or 1.0)
    return float("nan")


def untimed(machine: Machine) -> ModelError:
    """What is said of a machine whose step time nothing tells."""
    kind = f"its kind {machine.kind!r}" if machine.kind else "a machine without a kind"
    return ModelError(
        f"nothing says how long a step takes on machine {machine.name!r}.",
        expected=f"The job gives step_time for {kind}, or both kinds have a speed.",
        cure="Add it to step_time in the job file, give kinds a speed, or --avoid the machine.",
    )
