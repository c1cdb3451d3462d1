"""All that was learnt from the traces of a job: structure, times, and how sure we are.

The graph holds structure, the profile holds times: a `Spread` for each (work, machine kind), so
that one graph can be played on other machines and with stragglers.
"""

from dataclasses import dataclass

import msgspec
import numpy as np

from paceline.model.columns import F64, I32, I64, Columns
from paceline.model.graph import Graph
from paceline.model.job import Job
from paceline.model.timeline import Timeline
from paceline.model.trace import Note, Source

DECILES = 11  # 0 %, 10 %, ... 100 %


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """How long a work takes, with its tail."""

    count: int
    mean_ns: float
    deciles_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        """The middle duration."""
        return self.deciles_ns[DECILES // 2]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spreads(Columns):
    """One spread a row, for (work, machine kind); `deciles_ns` has DECILES numbers a row."""

    work: I32
    kind: I32
    count: I64
    mean_ns: F64
    deciles_ns: F64

    def __len__(self) -> int:
        return len(self.work)

    def of(self, work: int, kind: int) -> Spread | None:
        """The spread of a work on a kind of machine (positions), None where never seen."""
        rows = np.flatnonzero((self.work == work) & (self.kind == kind))
        return self.row(int(rows[0])) if len(rows) else None

    def row(self, index: int) -> Spread:
        """One row as a frozen record."""
        deciles = self.deciles_ns[index * DECILES : (index + 1) * DECILES]
        return Spread(
            count=int(self.count[index]),
            mean_ns=float(self.mean_ns[index]),
            deciles_ns=tuple(float(value) for value in deciles),
        )


class ProfiledWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that left traces: where it ran, what its peak memory was."""

    rank: int
    machine: str
    kind: int  # position in Profile.kinds
    peak_bytes: int | None = None


class Alignment(msgspec.Struct, frozen=True, kw_only=True):
    """How one worker's clock maps onto the first worker's.

    aligned = raw + offset_ns + drift_ppm * 1e-6 * (raw - raw_start_ns); `error_ns` is the
    half-width of the 95 % interval of an aligned time, None where nothing tied this clock to
    another, and `drift_error_ppm` that of the drift.
    """

    worker: int
    offset_ns: int
    drift_ppm: float
    raw_start_ns: int
    error_ns: float | None = None
    drift_error_ppm: float | None = None


class Stuck(msgspec.Struct, frozen=True, kw_only=True):
    """A collective that some workers entered and never left.

    `absent` are members that never entered it; `instead` says in words what each of them did last.
    """

    group: str | None
    sequence: int | None
    name: str
    entered: tuple[int, ...]
    absent: tuple[int, ...]
    instead: tuple[str, ...]


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """How many events of a kind found their counterparts, over all steps; by which key."""

    kind: str
    key: str  # "group and sequence" or "order"
    matched: int
    unmatched: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise(Columns):
    """Gradient norms by step and worker: rows of (worker, step); NaN is not recorded."""

    worker: I32
    step: I64
    loss: F64
    local: F64
    average: F64

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What the job is and how long its work takes.

    `durations` is an op's own work: for a collective or a receive the transfer, without waiting.
    `leads` is the time from the moment nothing is awaited any more to the op's start (Python
    between two ops, launch overhead). `measured` are the recorded steps, on aligned clocks.
    """

    job: Job
    workers: tuple[ProfiledWorker, ...]
    missing_workers: tuple[int, ...]
    kinds: tuple[str, ...]
    graph: Graph
    durations: Spreads
    leads: Spreads
    measured: tuple[Timeline, ...]
    alignment: tuple[Alignment, ...]
    residual_ns: float | None
    matching: tuple[Matching, ...]
    noise: Noise
    events: int
    stuck: tuple[Stuck, ...] = ()
    notes: tuple[Note, ...] = ()
    sources: tuple[Source, ...] = ()
