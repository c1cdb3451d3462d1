"""How much times vary in a job that is well: measured from recordings, drawn for synthetic jobs.

`figures` says how a profile varies, in the same way for a recording and for a synthetic job, so
that synthetic noise can be held against real noise. `GPU` is as restless as a pipeline job on
many GPUs, `CPU` as four workers that share two cores (the bundled recording): there workers are
interrupted for milliseconds at any moment.

    python bench/noise.py
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline import read, simulate, stitch
from paceline.model import TALKING, Kind, Profile

F64 = npt.NDArray[np.float64]
ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("PACELINE_SHARED_DATA", ROOT / "../shared/data"))
OWN = (Kind.COMPUTE, Kind.COPY, Kind.HOST, Kind.LOAD)
MS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Sizes of what makes times vary; standard deviations are of logarithms."""

    op: float  # from op to op
    far: float  # share of ops that take 1.5 to 4 times as long
    step: float  # of all work of a worker in a step
    drift: float  # of all work of all workers, lasting about five steps
    fixed: float  # between workers, in all steps alike
    wire: float  # of a transfer
    wire_far: float  # share of transfers that take 1.5 to 4 times as long
    pauses_per_s: float = 0.0  # interruptions a second of own work
    pause_ms: float = 0.0  # mean length of one


GPU = Noise(op=0.02, far=0.001, step=0.01, drift=0.015, fixed=0.006, wire=0.03, wire_far=0.06)
CPU = Noise(
    op=0.22, far=0.07, step=0.2, drift=0.02, fixed=0.006, wire=0.25, wire_far=0.16,
    pauses_per_s=60, pause_ms=6,
)  # fmt: skip


class Weather:
    """The noise of one run: `op` and `wire` draw times around their typical ones."""

    def __init__(self, noise: Noise, workers: int, draw: np.random.Generator) -> None:
        self.noise, self.draw = noise, draw
        self.fixed = np.exp(draw.normal(0, noise.fixed, workers))
        self.drift = 0.0
        self.factor: F64 = np.ones(workers)

    def next_step(self) -> None:
        """Another step: all that lasts a step is drawn anew, and the drift moves on."""
        noise, draw = self.noise, self.draw
        self.drift = 0.8 * self.drift + draw.normal(0, noise.drift * 0.6)  # 0.6² = 1 - 0.8²
        own = draw.normal(0, noise.step, len(self.fixed))
        self.factor = self.fixed * np.exp(own + self.drift)

    def op(self, worker: int, typical: float) -> float:
        """The time of own work in ns, with the interruptions that fall into it."""
        spent = typical * self.factor[worker] * self._times(self.noise.op, self.noise.far)
        pauses = self.draw.poisson(self.noise.pauses_per_s * spent / 1e9)
        if not pauses:
            return spent
        return spent + float(self.draw.exponential(self.noise.pause_ms * MS, pauses).sum())

    def woken(self) -> float:
        """How long after the end of a collective a worker goes on, in ns: its core may be busy."""
        busy = self.draw.random() < self.noise.pauses_per_s * self.noise.pause_ms / 1000
        late = self.draw.exponential(self.noise.pause_ms * MS) if busy else 0.0
        return abs(self.draw.normal(0, 3000)) + float(late)

    def wire(self) -> float:
        """By how much a transfer takes longer than the typical one."""
        return self._times(self.noise.wire, self.noise.wire_far)

    def _times(self, spread: float, far: float) -> float:
        large = self.draw.uniform(1.5, 4)
        some = large if self.draw.random() < far else 1.0
        return some * float(np.exp(self.draw.normal(0, spread)))


class Figures(NamedTuple):
    """How a profile varies; None where it says nothing."""

    op: float | None  # typical distance of an op from its median, of ops over 0.1 ms
    far: float | None  # share of them that take over 1.5 times their median
    paused: float  # share of own time lost in entries over 1 ms beyond their median
    step: float  # standard deviation of a worker's own time from step to step
    lasting: float  # correlation of the steps' own time with that of the next step
    fixed: float  # standard deviation between workers at the same work
    wire: float | None  # like op, of transfers
    wire_far: float | None


def figures(profile: Profile) -> Figures:
    """How the times of a profile vary over its steps and workers."""
    graph = profile.graph
    each = [simulate.times(profile, step=step) for step in range(len(profile.measured))]
    duration = np.array([times.duration_ns for times in each], dtype=float)
    lead = np.array([times.lead_ns for times in each], dtype=float)
    own, talks = np.isin(graph.kind, OWN), np.isin(graph.kind, TALKING)
    kernels = own & (graph.kind != Kind.HOST)
    table = np.hstack([duration[:, own], lead[:, own]])
    beyond = table - np.median(table, axis=0)
    workers = [graph.worker[own] == rank for rank in graph.workers]
    total = np.array([duration[:, own][:, mine].sum(axis=1) for mine in workers])
    common = np.log(total).mean(axis=0)
    lasting = np.corrcoef(common[1:], common[:-1])[0, 1] if len(common) > 3 else np.nan
    ratio = np.log(total / np.median(total, axis=1, keepdims=True))
    op, far = _relative(duration[:, kernels])
    wire, wire_far = _relative(duration[:, talks])
    return Figures(
        op=op,
        far=far,
        paused=float(np.where(beyond > MS, beyond, 0).sum() / table.sum()),
        step=float(ratio.std()),
        lasting=float(lasting),
        fixed=_between(graph.work[kernels], graph.worker[kernels], duration[:, kernels]),
        wire=wire,
        wire_far=wire_far,
    )


def _relative(table: F64) -> tuple[float | None, float | None]:
    usual = np.median(table, axis=0)
    some = usual > 0.1 * MS
    if not some.any() or len(table) < 3:
        return None, None
    ratio = np.log(np.maximum(table[:, some], 1) / usual[some])
    return 1.4826 * float(np.median(np.abs(ratio))), float((ratio > np.log(1.5)).mean())


def _between(work: npt.NDArray[np.int32], worker: npt.NDArray[np.int32], table: F64) -> float:
    """The typical distance of a worker from the middle one of those that do the same works."""
    usual = np.median(table, axis=0)
    teams: dict[tuple[int, ...], list[float]] = {}
    for rank in np.unique(worker):
        mine = worker == rank
        teams.setdefault(tuple(np.unique(work[mine])), []).append(float(usual[mine].sum()))
    apart = [np.log(team) - np.median(np.log(team)) for team in teams.values()]
    return 1.4826 * float(np.median(np.abs(np.concatenate(apart))))


def recordings() -> dict[str, Profile]:
    """The recordings of several steps that are at hand."""
    found = {"four workers on two cores": ROOT / "src/paceline/loop/demo_run"}
    pipeline = DATA / "traces/pipeline-ops/trace-ST.parquet"
    if pipeline.exists():
        found["pipeline job on GPUs"] = pipeline
    return {name: stitch.profile(read.traces(path)) for name, path in found.items()}


def table(rows: dict[str, Figures]) -> str:
    """The figures as a table."""
    names = "op to op, over 1.5x, lost in pauses, step to step, lasts, workers apart, transfer"
    lines = [
        "| | " + " | ".join(names.split(", ")) + " | over 1.5x |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in rows.items():
        cells = [
            "" if one is None else f"{one:.2f}" if at == 4 else f"{100 * one:.1f} %"
            for at, one in enumerate(found)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def compared() -> str:
    """Real noise beside the synthetic noise, measured alike."""
    from jobs import Shape, traces

    rows = {name: figures(profile) for name, profile in recordings().items()}
    gpus = Shape(workers=6, steps=32, layers=12, noise=GPU)
    cores = Shape(workers=4, steps=32, layers=12, kernel_ms=0.3, load_ms=1, noise=CPU)
    for name, shape in (("synthetic, like the GPUs", gpus), ("synthetic, like the cores", cores)):
        rows[name] = figures(stitch.profile(traces(shape, seed=1)))
    return table(rows)


if __name__ == "__main__":
    print(compared())
