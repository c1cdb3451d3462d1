"""What the length of a step hangs on: the path of ops, across workers, that has no slack.

Followed backward from the last end: an op hangs on what it waited for last, a collective on its
last arrival, a receive on the start of its send. The parts add up to the step: each op's own work,
its lead, and as "wait" what nothing in the graph explains (none in a simulation).
"""

import msgspec
import numpy as np

from paceline.model import I64, UNKNOWN, Graph, Kind, ModelError, PathPart, Timeline, Times
from paceline.simulate.observed import Structure, ready, structure
from paceline.simulate.sound import sound


class CriticalPath(msgspec.Struct, frozen=True, kw_only=True):
    """The path in order of time; each part names its op, a lead or wait the op that it precedes."""

    parts: tuple[PathPart, ...]

    @property
    def ops(self) -> tuple[int, ...]:
        """The ops on the path, in order."""
        return tuple(dict.fromkeys(part.op for part in self.parts if part.op is not None))

    @property
    def step_ns(self) -> int:
        """All parts together: the step."""
        return int(sum(part.ns for part in self.parts))

    @property
    def length_ns(self) -> int:
        """All parts but waits: no step with this work on its path can be shorter."""
        return int(sum(part.ns for part in self.parts if part.kind != "wait"))


def critical_path(graph: Graph, times: Times, timeline: Timeline) -> CriticalPath:
    """The critical path of a played or recorded step; its parts sum to the step exactly."""
    sound(graph, times)
    if len(timeline) != len(graph):
        raise ModelError(
            f"The timeline has {len(timeline)} ops, the graph {len(graph)}.",
            expected="A timeline belongs to one graph, op by op.",
        )
    there = timeline.start_ns != UNKNOWN
    if not there.any():
        return CriticalPath(parts=())
    walk = _Walk(graph, times, timeline)
    op = int(np.argmax(np.where(there, timeline.end_ns, UNKNOWN)))
    at = int(timeline.end_ns[op])
    while op >= 0:
        op, at = walk.own(op, at)
        at = walk.gap(op, at)
        op = walk.awaited(op)
    walk.found.reverse()
    return CriticalPath(parts=tuple(walk.found))


class _Walk:
    """A walk backward in time; `found` are the parts, last first."""

    def __init__(self, graph: Graph, times: Times, line: Timeline) -> None:
        self.graph, self.times, self.line = graph, times, line
        self.known: Structure = structure(graph)
        self.ready, _ = ready(self.known, line.start_ns, line.end_ns)
        self.begun = np.maximum(line.start_ns, self.ready)
        self.last = _last_arrivals(self.known, line, self.begun)
        self.found: list[PathPart] = []

    def own(self, op: int, at: int) -> tuple[int, int]:
        """Adds the op's own work up to `at`; returns the op that it hangs on, and since when."""
        behind, begun = op, int(self.begun[op])
        if self.graph.kind[op] == Kind.COLLECTIVE and self.graph.match[op] >= 0:
            latest = int(self.last[self.graph.match[op]])
            if self.begun[latest] > begun:
                behind = latest
        send = int(self.known.send[op])
        if send >= 0 and self.line.start_ns[send] != UNKNOWN:
            flowed = self.times.duration_ns[op] < 0 and at > begun
            if flowed or self.begun[send] > begun:
                behind = send
        begun = min(int(self.begun[behind]), at)
        worker_op = op if self.graph.kind[op] != Kind.COLLECTIVE else behind
        self._add(worker_op, Kind(int(self.graph.kind[op])).name.lower(), at - begun)
        return behind, begun

    def gap(self, op: int, at: int) -> int:
        """Adds the op's lead and what nothing explains; returns when the op was ready."""
        ready_at = min(int(self.ready[op]), at)
        lead = min(at - ready_at, int(self.times.lead_ns[op]))
        for kind, ns in (("lead", lead), ("wait", at - ready_at - lead)):
            if ns > 0:
                self._add(op, kind, ns)
        return ready_at

    def awaited(self, op: int) -> int:
        """The op that this one waited for last, -1 if none."""
        candidates = [int(self.known.before[op]), *self.graph.after(op).tolist()]
        for other in candidates:
            if other >= 0 and self.line.end_ns[other] == self.ready[op]:
                return other
        return -1

    def _add(self, op: int, kind: str, ns: int) -> None:
        name = self.graph.works[int(self.graph.work[op])].name
        worker = int(self.graph.worker[op])
        self.found.append(PathPart(worker=worker, kind=kind, name=name, ns=ns, op=op))


def _last_arrivals(known: Structure, line: Timeline, begun: I64) -> I64:
    """By match: the member that came last."""
    graph = known.graph
    last = np.full(len(graph.match_group), -1, dtype=np.int64)
    there = known.meets[line.start_ns[known.meets] != UNKNOWN]
    order = there[np.argsort(begun[there], kind="stable")]
    last[graph.match[order]] = order  # of equal positions the last one written stays
    return last
