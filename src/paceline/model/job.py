"""What a job is and what its owner wants: job.yaml and goal.yaml as nouns."""

import msgspec


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A training job; None means not known.

    `steps_at_large_batch` and `n_crit` are I_inf and n_crit of I(n) = I_inf * (1 + n_crit / n).
    """

    name: str = "job"
    gradient_bytes: int | None = None
    local_batch: int | None = None
    step_time_ns: dict[str, int] = {}  # compute time of one local batch, by machine kind
    overlap: float | None = None
    steps_at_large_batch: float | None = None
    n_crit: float | None = None
    checkpoint_time_ns: int | None = None
    restart_time_ns: int | None = None
    movable_data: bool | None = None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where training is done: exactly one of the three is given."""

    steps: int | None = None
    samples: int | None = None
    gap: float | None = None


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan must reach; None means free. `exact`: gradients must equal the full sum."""

    target: Target | None = None
    deadline_s: float | None = None
    budget_usd: float | None = None
    exact: bool | None = None
    min_workers: int | None = None
    max_workers: int | None = None
