"""Which links of a cluster a message takes, and the slowest link of a ring of workers.

A message takes the route of least latency (what is not known counts as none), among those one of
fewest links, as in the simulation. Hops of one ring that share a link in the same direction share
its rate; a link that loses a share of its packets carries that much less.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.model import Cluster

Step = tuple[int, bool]  # position of a link, and whether it is taken from a to b
_NOWHERE = -9999  # scipy's word for "no predecessor"


class Routes:
    """The routes of a cluster, found once for each start."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        names = dict.fromkeys(end for link in cluster.links for end in (link.a, link.b))
        self._names = list(names)
        self._place = {name: at for at, name in enumerate(self._names)}
        self._step: dict[tuple[str, str], Step] = {}
        for at, link in enumerate(cluster.links):
            self._step[link.a, link.b] = (at, True)
            self._step[link.b, link.a] = (at, False)
        owners = {machine.name for machine in cluster.machines}
        self._switch: dict[str, str] = {}  # the first that a machine hangs on
        for a, b in self._step:
            if a in owners and b not in owners:
                self._switch.setdefault(a, b)
        self._came: dict[str, npt.NDArray[np.int32]] = {}
        self._matrix: Any = None

    def path(self, start: str, end: str) -> tuple[Step, ...] | None:
        """The links from one end to another; empty for the same end, None where none lead there."""
        if start == end:
            return ()
        if start not in self._place or end not in self._place:
            return None
        came = self._from(start)
        steps: list[Step] = []
        while end != start:
            ahead = int(came[self._place[end]])
            if ahead == _NOWHERE:
                return None
            steps.append(self._step[self._names[ahead], end])
            end = self._names[ahead]
        return tuple(reversed(steps))

    def _from(self, start: str) -> npt.NDArray[np.int32]:
        """From where the best route from a start comes to each place."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        places = len(self._names)
        if self._matrix is None:
            ends = np.array([[self._place[a], self._place[b]] for a, b in self._step])
            links = [self.cluster.links[at] for at, _ in self._step.values()]
            latency = [float(link.latency_ns or 0) for link in links]
            # both goals in one exact number: a route of n links has n as its remainder
            weight = np.array(latency) * (places + 1) + 1
            self._matrix = csr_array((weight, (ends[:, 0], ends[:, 1])), shape=(places, places))
        if start not in self._came:
            found = dijkstra(self._matrix, indices=[self._place[start]], return_predecessors=True)
            self._came[start] = found[1][0]
        return self._came[start]

    def rate(self, step: Step) -> float | None:
        """Bytes per second of a link in the direction taken."""
        link = self.cluster.links[step[0]]
        back = link.back_bytes_per_s
        rate = link.bytes_per_s if step[1] or back is None else back
        return None if rate is None else rate * (1 - (link.loss or 0.0))

    def slowest(self, paths: Iterable[Sequence[Step]]) -> float | None:
        """The least rate that these paths leave each other, None where no rate is known."""
        taken = Counter(step for path in paths for step in path)
        rates = [(self.rate(step), times) for step, times in taken.items()]
        return min((rate / times for rate, times in rates if rate is not None), default=None)

    def latency_ns(self, path: Sequence[Step]) -> float:
        """The latencies of a path together; what is not known counts as none."""
        return float(sum(self.cluster.links[at].latency_ns or 0 for at, _ in path))

    def ring(self, machines: Sequence[str]) -> list[tuple[Step, ...]] | None:
        """The paths around a ring of workers on these machines; None where one is missing.

        The ring goes through one machine after the other, and through those of one switch.
        """
        switch = {machine: self._switch.get(machine, machine) for machine in machines}
        turn = {name: at for at, name in enumerate(dict.fromkeys(switch.values()))}
        first = {machine: at for at, machine in enumerate(switch)}
        around = sorted(machines, key=lambda machine: (turn[switch[machine]], first[machine]))
        paths: list[tuple[Step, ...]] = []
        for start, end in zip(around, (*around[1:], *around[:1]), strict=True):
            path = self.path(start, end)
            if path is None:
                return None
            paths.append(path)
        return paths
