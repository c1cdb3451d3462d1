"""The evidence that all questions share: what each op took in each step, and what if it had not.

Times come from the measured steps; `regained` plays every step twice, as it was and with some of
its times changed, and states the difference with its interval over the steps.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline import simulate
from paceline.diagnose.interval import Mean, mean
from paceline.diagnose.messages import cured, messages
from paceline.diagnose.outliers import calm, outliers
from paceline.diagnose.peer_sets import extra
from paceline.diagnose.peers import FOREIGN, Usual, usual
from paceline.model import Cluster, Graph, Kind, Profile, Times

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

OWN = (Kind.COMPUTE, Kind.COPY, Kind.HOST, Kind.LOAD)  # what a worker does by itself
CELLS = 20_000_000  # largest (step, op) table; longer recordings are thinned evenly
MOST_STEPS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A profile laid out for questions: tables are (step, op), in ns."""

    profile: Profile
    cluster: Cluster | None
    duration: F64
    lead: F64
    base_ns: F64
    measured_ns: F64
    fair_duration: F64  # without what single workers, links and standstills add
    fair_lead: F64
    fair_ns: F64
    halves: tuple[tuple[Usual, Usual], tuple[Usual, Usual]]  # (durations, leads) of each half

    @property
    def graph(self) -> Graph:
        """The ops."""
        return self.profile.graph

    @property
    def step_ns(self) -> float:
        """The median step as simulated."""
        return float(np.median(self.base_ns)) if len(self.base_ns) else 0.0

    @property
    def least_ns(self) -> float:
        """What is too little to speak of: 1 % of the step."""
        return 0.01 * self.step_ns

    def own(self) -> Mask:
        """Ops that a worker does by itself."""
        return np.isin(self.graph.kind, OWN)

    def begins(self) -> Mask:
        """Ops that wait for nothing: how late they are is left over from the step before."""
        return begins(self.graph)

    def shifts(self) -> tuple[F64, F64]:
        """How much longer each op's duration and lead are than its peers', by step.

        For a step of one half it is learnt from the other half, so that a worker who was slow by
        chance in the steps looked at has no systematic shift.
        """
        duration, lead = np.empty_like(self.duration), np.empty_like(self.lead)
        for half in (0, 1):
            other = self.halves[1 - half]
            rows = slice(half, None, 2)
            duration[rows] = other[0].excess(self.duration[rows])
            lead[rows] = other[1].excess(self.lead[rows])
        return duration, lead * ~self.begins()

    def peers(self, which: int) -> F64:
        """What the peers of each op usually take (0) or how late they begin (1)."""
        return (self.halves[0][which].peers + self.halves[1][which].peers) / 2

    def always(self, which: int) -> Mask:
        """Ops whose duration (0) or lead (1) is mostly more than their peers', even when calm."""
        table = self.lead if which else self.duration
        return calm(table) * (1 - FOREIGN) > self.peers(which)

    def regained(self, duration: F64 | None = None, lead: F64 | None = None) -> Mean:
        """The step time regained with these tables instead of what was measured."""
        return mean(self.base_ns - self.play(duration, lead))

    def regained_by_all(self, duration: F64 | None = None, lead: F64 | None = None) -> Mean:
        """What a change of the whole job regains once single workers and links are cured."""
        play = self.play(
            self.fair_duration if duration is None else duration,
            self.fair_lead if lead is None else lead,
        )
        return mean(self.fair_ns - play)

    def play(self, duration: F64 | None = None, lead: F64 | None = None) -> F64:
        """The length of each step with these tables instead of what was measured."""
        return played(
            self.graph,
            self.duration if duration is None else np.maximum(duration, 0),
            self.lead if lead is None else np.maximum(lead, 0),
        )


def played(graph: Graph, duration: F64, lead: F64) -> F64:
    """The length of each step in a simulation with these times."""
    lengths = [
        simulate.timeline(
            graph,
            Times(duration_ns=np.rint(own).astype(np.int64), lead_ns=np.rint(gap).astype(np.int64)),
        ).step_ns
        for own, gap in zip(duration, lead, strict=True)
    ]
    return np.array(lengths, dtype=np.float64)


def case(profile: Profile, cluster: Cluster | None) -> Case:
    """The evidence of a profile."""
    steps = chosen(profile, MOST_STEPS)
    each = [simulate.times(profile, step=step) for step in steps]
    duration = np.array([times.duration_ns for times in each], dtype=np.float64)
    lead = np.array([times.lead_ns for times in each], dtype=np.float64)
    graph = profile.graph
    work, alone = graph.work, extra(graph)
    base = played(graph, duration, lead)
    halves = [
        (usual(duration[rows], work, alone), usual(lead[rows], work, alone))
        for rows in (slice(0, None, 2), slice(1, None, 2))
        if len(duration[rows])
    ]
    fair = _fair(graph, duration, lead, halves, np.median(base))
    return Case(
        profile=profile,
        cluster=cluster,
        duration=duration,
        lead=lead,
        base_ns=base,
        measured_ns=np.array([profile.measured[step].step_ns for step in steps], dtype=np.float64),
        fair_duration=fair[0],
        fair_lead=fair[1],
        fair_ns=played(graph, *fair),
        halves=(halves[0], halves[-1]),
    )


def begins(graph: Graph) -> Mask:
    """Ops without anything before them on their lane or among their dependencies."""
    free = np.diff(graph.after_from) == 0
    place = graph.worker.astype(np.int64) * (len(graph.lanes) + 1) + graph.lane
    first = np.zeros(len(graph), dtype=bool)
    first[np.unique(place, return_index=True)[1]] = True
    return free & first


def _fair(
    graph: Graph, duration: F64, lead: F64, halves: list[tuple[Usual, Usual]], step_ns: float
) -> tuple[F64, F64]:
    """The tables as they were if no worker, link or moment were worse than its peers."""
    own = np.isin(graph.kind, OWN)
    later = own & ~begins(graph)
    longer = np.maximum(np.mean([half[0].excess(duration) for half in halves], axis=0), 0) * own
    gap = np.maximum(np.mean([half[1].excess(lead) for half in halves], axis=0), 0) * later
    found = messages(graph, duration)
    slow = cured(found, duration, found.shift > 0)
    return (
        np.maximum(slow - longer - outliers(duration, graph.work, step_ns) * own, 0),
        np.maximum(lead - gap - outliers(lead, graph.work, step_ns) * later, 0),
    )


def chosen(profile: Profile, most: int) -> list[int]:
    """Positions of measured steps to look at, evenly spread; fewer where the graph is large."""
    fit = int(np.clip(CELLS // max(len(profile.graph), 1), 3, most))
    count = len(profile.measured)
    return sorted({round(at) for at in np.linspace(0, count - 1, min(fit, count))})
