"""Hand-made traces, event by event, for tests of stitching. Say `from made_traces import Made`.

Beside them the definition of recorded times and of a replay, slow and plain: what a Profile says of
a step must give that step again. Nothing of paceline's own fitting or simulating is in it.
"""

import heapq
from collections import defaultdict

from paceline.model import (
    UNKNOWN,
    Facts,
    Graph,
    Kind,
    Profile,
    Source,
    Timeline,
    Trace,
    TraceBuilder,
    verify,
)

US, MS = 1_000, 1_000_000


class Made:
    """A trace under construction, in whole ns; links are own events or (worker, event)."""

    def __init__(self, worker: int = 0) -> None:
        self.worker, self.builder = worker, TraceBuilder()

    def add(
        self, name: str, start: int, end: int | None, *, lane: str = "main", kind: Kind = Kind.HOST,
        step: int = 0, after: tuple[int | tuple[int, int], ...] = (),
        group: str | tuple[str, tuple[int, ...]] | None = None, **rest: object,
    ) -> int:  # fmt: skip
        """One event from start to end; an end of None is not known."""
        number = -1
        if group is not None:
            number = self.builder.group(*((group,) if isinstance(group, str) else group))
        return self.builder.add(
            name, kind, lane, start, UNKNOWN if end is None else end - start, step=step,
            group=number, after=[(self.worker, a) if isinstance(a, int) else a for a in after],
            **rest,  # type: ignore[arg-type]
        )  # fmt: skip

    def trace(
        self, *, clock: str | None = "unix", tool: str | None = None, **facts: object
    ) -> Trace:
        """The trace so far, verified."""
        sources = () if tool is None else (Source(path=f"{tool}-{self.worker}.json", tool=tool),)
        return verify(
            self.builder.trace(
                self.worker,
                clock=clock,
                facts=Facts(**facts),
                sources=sources,  # type: ignore[arg-type]
            )
        )


def recorded(graph: Graph, line: Timeline) -> tuple[list[int], list[int]]:
    """Own work and lead of each op of a recorded step, straight from their definitions."""
    start, end = line.start_ns.tolist(), line.end_ns.tolist()
    own, lead, begun = [0] * len(graph), [0] * len(graph), [0] * len(graph)
    left = list(end)  # when what follows an op may begin: a send need not await its receiver
    last: dict[tuple[int, int], int] = defaultdict(int)
    for op in range(len(graph)):
        if start[op] == UNKNOWN:
            continue
        place = int(graph.worker[op]), int(graph.lane[op])
        free = max([last[place]] + [end[a] for a in graph.after(op) if end[a] != UNKNOWN])
        begun[op] = max(start[op], free)
        own[op] = max(0, end[op] - begun[op])
        last[place] = max(last[place], end[op])
    for members in graph.members():
        there = [int(op) for op in members if start[op] != UNKNOWN]
        collective = [op for op in there if graph.kind[op] == Kind.COLLECTIVE]
        if collective:
            half_left = sorted(end[op] for op in collective)[(len(collective) - 1) // 2]
            last_arrival = max(begun[op] for op in collective)
            transfer = min([half_left - last_arrival, *(own[op] for op in collective)])
            for op in collective:
                own[op] = max(0, transfer)
        sides = {int(graph.kind[op]): op for op in there}
        send, receive = sides.get(Kind.SEND), sides.get(Kind.RECV)
        if send is not None and receive is not None:
            both = max(begun[send], begun[receive])
            own[receive] = max(0, end[receive] - both)
            if begun[receive] < end[send]:
                own[send] = end[send] - both
            left[send] = begun[send] + own[send]
    last.clear()
    for op in range(len(graph)):
        if start[op] != UNKNOWN:
            place = int(graph.worker[op]), int(graph.lane[op])
            free = max([last[place]] + [left[a] for a in graph.after(op) if start[a] != UNKNOWN])
            lead[op] = max(0, start[op] - free)
            last[place] = max(last[place], left[op])
    return own, lead


def replayed(graph: Graph, own: list[int], lead: list[int]) -> list[int]:
    """The end of each op if its work takes so long."""
    members = [tuple(int(op) for op in ops) for ops in graph.members()]
    waits, follows = [0] * len(graph), defaultdict(list)
    last: dict[tuple[int, int], int] = {}
    for op in range(len(graph)):
        place = int(graph.worker[op]), int(graph.lane[op])
        before = {int(a) for a in graph.after(op)} | ({last[place]} if place in last else set())
        last[place] = op
        waits[op] = len(before)
        for other in before:
            follows[other].append(op)
    free, begun, end = [0] * len(graph), [-1] * len(graph), [-1] * len(graph)
    ready = [(0, op) for op in range(len(graph)) if not waits[op]]
    while ready:
        moment, op = heapq.heappop(ready)
        begun[op] = moment + lead[op]
        match = members[graph.match[op]] if graph.match[op] >= 0 else (op,)
        for one in {op, *match}:
            meets = graph.kind[one] != Kind.SEND and len(match) > 1
            if begun[one] < 0 or end[one] >= 0 or (meets and min(begun[m] for m in match) < 0):
                continue
            end[one] = (max(begun[m] for m in match) if meets else begun[one]) + own[one]
            for other in follows[one]:
                free[other] = max(free[other], end[one])
                waits[other] -= 1
                if not waits[other]:
                    heapq.heappush(ready, (free[other], other))
    assert min(end, default=0) >= 0, "ops wait for themselves"
    return end


def medians(profile: Profile) -> tuple[list[int], list[int]]:
    """Own work and lead of each op by the profile's spreads."""
    kind_of = {worker.rank: worker.kind for worker in profile.workers}
    graph, columns = profile.graph, []
    for spreads in (profile.durations, profile.leads):
        middle = {
            (int(spreads.work[row]), int(spreads.kind[row])): spreads.row(row).median_ns
            for row in range(len(spreads))
        }
        columns.append(
            [round(middle[int(w), kind_of[int(r)]])
             for w, r in zip(graph.work, graph.worker, strict=True)]
        )  # fmt: skip
    return columns[0], columns[1]
