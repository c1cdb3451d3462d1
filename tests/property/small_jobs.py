"""Hand-made jobs for tests of edits: ops written one by one, and a replay to play them with.

Say `from small_jobs import Small, replayed`. The replay is the definition in forty lines, slow and
plain; nothing of the simulator is in it.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from paceline.model import (
    DECILES,
    KINDS,
    PHASES,
    Bucket,
    Cluster,
    Graph,
    Group,
    Job,
    Kind,
    Noise,
    Profile,
    ProfiledWorker,
    Spreads,
    Timeline,
    Times,
    Work,
    chained,
)


class Small:
    """A job under construction; `add` returns the id of the op."""

    def __init__(self, workers: int = 2, machines: tuple[str, ...] | None = None) -> None:
        self.ranks = tuple(range(workers))
        self.machines = machines or tuple(f"m{rank}" for rank in self.ranks)
        self.rows: list[dict[str, object]] = []
        self.groups: dict[str, Group] = {}
        self.matches: dict[str, int] = {}
        self.match_group: list[int] = []
        self.buckets: list[Bucket] = []
        self.measured: list[Timeline] = []

    def group(self, name: str, *members: int) -> str:
        """A group, of all workers if no members are given."""
        self.groups[name] = Group(name=name, members=members or self.ranks)
        return name

    def add(
        self, worker: int, lane: str, kind: str, ns: int, *after: int,
        lead: int = 0, name: str | None = None, phase: str = "other", layer: str | None = None,
        size: int = -1, match: str | None = None, group: str | None = None, bucket: int = -1,
        algorithm: str | None = None,
    ) -> int:  # fmt: skip
        """One op; ops that name one match meet."""
        met = -1
        if match is not None:
            met = self.matches.setdefault(match, len(self.matches))
            if met == len(self.match_group):
                at = -1 if group is None else list(self.groups).index(group)
                self.match_group.append(at)
        self.rows.append({
            "worker": worker, "lane": lane, "kind": kind, "ns": ns, "after": after, "lead": lead,
            "name": name or kind, "phase": phase, "layer": layer, "size": size, "match": met,
            "bucket": bucket, "algorithm": algorithm,
        })  # fmt: skip
        return len(self.rows) - 1

    def reduce(
        self, match: str, ns: int, size: int, afters: dict[int, int], *,
        lane: str = "comm", group: str = "dp", name: str = "all_reduce", **rest: object,
    ) -> dict[int, int]:  # fmt: skip
        """A collective of those workers, each after one op; the op of each worker."""
        rest = {"phase": "backward", **rest}
        return {
            worker: self.add(worker, lane, "collective", ns, after, name=name, size=size,
                             match=match, group=group, **rest)  # type: ignore[arg-type]
            for worker, after in afters.items()
        }  # fmt: skip

    @property
    def graph(self) -> Graph:
        """The graph so far."""
        lanes = list(dict.fromkeys(str(row["lane"]) for row in self.rows))
        layers = list(dict.fromkeys(str(r["layer"]) for r in self.rows if r["layer"] is not None))
        works: dict[Work, int] = {}
        seen: dict[tuple[object, ...], int] = defaultdict(int)
        work = [works.setdefault(self._work(row, seen), len(works)) for row in self.rows]
        afters = [tuple(row["after"]) for row in self.rows]  # type: ignore[arg-type]
        return Graph(
            kind=np.array([KINDS[str(row["kind"])] for row in self.rows], np.uint8),
            phase=np.array([PHASES[str(row["phase"])] for row in self.rows], np.uint8),
            worker=self._column("worker", np.int32),
            lane=np.array([lanes.index(str(row["lane"])) for row in self.rows], np.int32),
            work=np.array(work, np.int32),
            layer=np.array([-1 if r["layer"] is None else layers.index(str(r["layer"]))
                            for r in self.rows], np.int32),
            bucket=self._column("bucket", np.int32),
            size_bytes=self._column("size", np.int64),
            match=self._column("match", np.int32),
            after_from=chained([len(after) for after in afters]),
            after_op=np.array([op for after in afters for op in after], np.int32),
            match_group=np.array(self.match_group, np.int32),
            workers=self.ranks,
            works=tuple(works),
            lanes=tuple(lanes),
            layers=tuple(layers),
            buckets=tuple(self.buckets),
            groups=tuple(self.groups.values()),
        )  # fmt: skip

    @property
    def times(self) -> Times:
        """The times so far."""
        return Times(
            duration_ns=self._column("ns", np.int64), lead_ns=self._column("lead", np.int64)
        )

    @property
    def profile(self) -> Profile:
        """A profile of this job; measured are the timelines put into `measured`."""
        return profile(self.graph, self.machines, tuple(self.measured), self.times)

    def _column(self, name: str, dtype: type) -> np.ndarray:
        return np.array([row[name] for row in self.rows], dtype)

    @staticmethod
    def _work(row: dict[str, object], seen: dict[tuple[object, ...], int]) -> Work:
        like = (row["name"], row["kind"], row["phase"], row["layer"], row["size"], row["algorithm"])
        key = (row["worker"], *like)
        seen[key] += 1
        return Work(
            name=str(row["name"]), kind=KINDS[str(row["kind"])], phase=PHASES[str(row["phase"])],
            layer=row["layer"], size_bytes=None if row["size"] == -1 else row["size"],
            algorithm=row["algorithm"], occurrence=seen[key] - 1,
        )  # type: ignore[arg-type]  # fmt: skip


def profile(
    graph: Graph,
    machines: Iterable[str],
    measured: tuple[Timeline, ...] = (),
    times: Times | None = None,
) -> Profile:
    """A profile that knows its graph, machines and measured steps; of times, how each work took."""
    none = np.empty(0)
    spreads = Spreads(work=none, kind=none, count=none, mean_ns=none, deciles_ns=none)
    work, first = np.unique(graph.work, return_index=True)
    own = none if times is None else times.duration_ns[first].astype(np.float64)
    durations = spreads if times is None else Spreads(
        work=work, kind=np.zeros(len(work)), count=np.ones(len(work)), mean_ns=own,
        deciles_ns=np.repeat(own, DECILES),
    )  # fmt: skip
    return Profile(
        job=Job(), missing_workers=(), kinds=("gpu",), graph=graph, durations=durations,
        leads=spreads, measured=measured, alignment=(), residual_ns=None, matching=(), events=0,
        workers=tuple(ProfiledWorker(rank=rank, machine=machine, kind=0)
                      for rank, machine in zip(graph.workers, machines, strict=False)),
        noise=Noise(worker=none, step=none, loss=none, local=none, average=none),
    )  # fmt: skip


def replayed(graph: Graph, times: Times) -> Timeline:
    """Start and end of each op: lanes in id order, waiting for `after`, meeting in matches."""
    if not len(graph):
        return Timeline(start_ns=np.empty(0), end_ns=np.empty(0))
    duration, lead = times.duration_ns.tolist(), times.lead_ns.tolist()
    assert min(duration) >= 0, "a time that follows from links cannot be replayed here"
    waits = [set(graph.after(op).tolist()) for op in range(len(graph))]
    last: dict[tuple[int, int], int] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for op in range(len(graph)):
        place = (int(graph.worker[op]), int(graph.lane[op]))
        if place in last:
            waits[op].add(last[place])
        last[place] = op
        members[int(graph.match[op])].append(op)
    start, end = [-1] * len(graph), [-1] * len(graph)
    left = set(range(len(graph)))
    while left:
        changed = False
        for op in sorted(left):
            if start[op] < 0 and all(end[other] >= 0 for other in waits[op]):
                start[op] = max((end[other] for other in waits[op]), default=0) + lead[op]
                changed = True
            met = [op]
            if graph.match[op] >= 0 and graph.kind[op] == Kind.COLLECTIVE:
                met = members[int(graph.match[op])]
            elif graph.match[op] >= 0 and graph.kind[op] == Kind.RECV:
                sends = [
                    one for one in members[int(graph.match[op])] if graph.kind[one] == Kind.SEND
                ]
                met = [op, *sends]
            if all(start[one] >= 0 for one in met):
                together = met if graph.kind[op] == Kind.COLLECTIVE else [op]
                end[op] = max(start[one] for one in met) + max(duration[one] for one in together)
                left.discard(op)
                changed = True
        assert changed, "ops wait for themselves"
    return Timeline(start_ns=np.array(start), end_ns=np.array(end))


def step_ns(graph: Graph, times: Times) -> int:
    """The length of the step, from its first start to its last end."""
    return replayed(graph, times).step_ns


def star(machines: Iterable[str], bytes_per_s: float = 1e9, latency_ns: int = 1000) -> Cluster:
    """Machines around one switch."""
    from paceline.model import Link, Machine

    names = tuple(machines)
    return Cluster(
        machines=tuple(Machine(name=name) for name in names),
        links=tuple(
            Link(a=name, b="switch", bytes_per_s=bytes_per_s, latency_ns=latency_ns)
            for name in names
        ),
    )
