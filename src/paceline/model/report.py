"""What is wrong with a job and what it costs: findings, and all that a page shows of them."""

import enum

import msgspec

from paceline.model.plan import Edit
from paceline.model.profile import Alignment
from paceline.model.trace import Source


class Cause(enum.StrEnum):
    """Why a worker, op or link is slow: a closed list."""

    SLOW_COMPUTE = "slow_compute"
    SLOW_HOST = "slow_host"
    INPUT = "input"
    SLOW_LINK = "slow_link"
    DELAY = "delay"
    STALL = "stall"
    IMBALANCE = "imbalance"
    CONTENTION = "contention"
    VOLUME = "volume"
    HANG = "hang"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong. `cost_ns` is the step time regained in a simulation without it."""

    code: str
    rule: str
    subject: str
    worker: int | None
    cause: Cause | None
    cost_ns: float | None
    interval_ns: tuple[float, float] | None
    evidence: tuple[str, ...]
    advice: str
    edit: Edit | None = None


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker did in the median step: time with work on the device, time spent waiting
    inside collectives, and how many collectives it entered last.
    """

    worker: int
    busy_ns: float
    wait_ns: float
    arrives_last: int


class PathPart(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the critical path; waits are a kind of their own. `op` is its op in the graph."""

    worker: int
    kind: str
    name: str
    ns: float
    op: int | None = None


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The step under some edits."""

    edits: tuple[Edit, ...]
    step_ns: float
    interval_ns: tuple[float, float] | None = None


class MeasuredLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link as the traces show it."""

    a: str
    b: str
    bytes_per_s: float
    latency_ns: float | None
    interval_bytes_per_s: tuple[float, float] | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of a job by cost, with what was checked and what they rest on.

    `collectives` counts those of one step on the busiest worker, `transfer_ns` is their transfer
    in sum; `simulation_error` is the median relative error of simulated against measured steps.
    """

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    step_ns: tuple[float, float, float]  # median, 10th and 90th percentile
    workers: int = 0
    missing_workers: tuple[int, ...] = ()
    steps: int = 0
    events: int = 0
    simulated_step_ns: float | None = None
    simulation_error: float | None = None
    alignment: tuple[Alignment, ...] = ()
    residual_ns: float | None = None
    collectives: int = 0
    transfer_ns: float = 0.0
    waits: tuple[Wait, ...] = ()
    critical_path: tuple[PathPart, ...] = ()
    what_ifs: tuple[WhatIf, ...] = ()
    links: tuple[MeasuredLink, ...] = ()
    sources: tuple[Source, ...] = ()


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a step in two runs: time per step before and after, and the change with interval.

    `change` is relative to the whole step before: 0.03 means that the step is 3 % longer by this.
    """

    what: str
    before_ns: float
    after_ns: float
    change: float
    interval: tuple[float, float] | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs of one job: the whole step, and the parts that changed by more than noise."""

    step: Change
    certain: bool  # the change of the step is more than noise
    parts: tuple[Change, ...]
    steps: tuple[int, int]
    sources: tuple[Source, ...] = ()


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What `paceline doctor` found of one thing: `works` None means that nobody could try."""

    what: str
    works: bool | None
    found: str
    cure: str = ""


class BillLine(msgspec.Struct, frozen=True, kw_only=True):
    """One position of a bill."""

    what: str
    hours: float
    usd: float


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan costs, with the interval that held on past data."""

    lines: tuple[BillLine, ...]
    hours: float
    usd: float
    interval_usd: tuple[float, float] | None = None
    sources: tuple[Source, ...] = ()
