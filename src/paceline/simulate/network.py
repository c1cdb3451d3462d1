"""The links of a cluster and the routes over them: who is how far from whom, and by which way.

A message takes the route of least latency (what is not known counts as none), among those the one
of fewest links. Among equal routes the receiver's place in the file decides, as in a fat tree
("destination modulo ways"), so equal spines are all used and one pair always takes one way.
A link that loses a share of its packets carries that much less.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paceline.model import F64, I32, I64, Cluster, Link, ModelError, chained, verify

ROWS = 2**24  # numbers in one table of distances


class Routes(NamedTuple):
    """The links of each route (ragged) and the sum of their latencies."""

    route_from: I64
    route_link: I32
    latency_ns: I64


@dataclass(frozen=True, slots=True)
class Network:
    """Both directions of each link: link 2k runs from a to b of the file's link k, 2k + 1 back."""

    cluster: Cluster
    place: dict[str, int]  # of machines and switches, in file order
    tail: I32
    head: I32
    bytes_per_ns: F64  # NaN where not known
    latency_ns: I64

    @classmethod
    def of(cls, cluster: Cluster) -> "Network":
        """The network of a cluster."""
        verify(cluster)
        ends = [end for link in cluster.links for end in (link.a, link.b)]
        names = dict.fromkeys([machine.name for machine in cluster.machines] + ends)
        place = {name: at for at, name in enumerate(names)}
        spots = np.array([place[end] for end in ends], dtype=np.int32).reshape(-1, 2)
        rates = [rate for link in cluster.links for rate in _rates(link)]
        latencies = [link.latency_ns or 0 for link in cluster.links]
        return cls(
            cluster=cluster,
            place=place,
            tail=spots.ravel(),
            head=spots[:, ::-1].ravel(),
            bytes_per_ns=np.array(rates, dtype=np.float64),
            latency_ns=np.repeat(np.array(latencies, dtype=np.int64), 2),
        )

    @classmethod
    def empty(cls) -> "Network":
        """A network of no machines."""
        return cls.of(Cluster())

    def of_machine(self, name: str) -> int:
        """The place of a machine."""
        if name not in self.place:
            raise ModelError(
                f"Machine {name!r} is not in the cluster.",
                cure="Add it to the cluster file, or put the worker on a machine that is there.",
            )
        return self.place[name]

    def routes(self, source: I32, target: I32) -> Routes:
        """The route of each pair of places, sorted by source; ModelError where there is none."""
        if not len(source):
            return Routes(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))
        starts, link = self._ways(source, target)
        if np.isnan(self.bytes_per_ns[link]).any():
            bad = int(link[np.isnan(self.bytes_per_ns[link])][0])
            raise ModelError(
                f"The rate of the link {self._shown(bad)} is not known.",
                cure="Give it a rate in the cluster file, such as rate: 10Gbit.",
            )
        summed = np.concatenate([[0], np.cumsum(self.latency_ns[link])])
        return Routes(starts, link, summed[starts[1:]] - summed[starts[:-1]])

    def _ways(self, source: I32, target: I32) -> tuple[I64, I32]:
        from paceline.simulate.way import walked

        places = len(self.place)
        # Both goals in one exact number: a route of n links has n as its remainder.
        weight = self.latency_ns.astype(np.float64) * (places + 1) + 1
        order = np.argsort(self.head, kind="stable").astype(np.int32)
        inward = chained(np.bincount(self.head, minlength=places))
        sources, row = np.unique(source, return_inverse=True)
        chunk = max(ROWS // places, 1)
        starts, parts = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        for first in range(0, len(sources), chunk):
            distance = self._distances(weight, sources[first : first + chunk])
            own = slice(*np.searchsorted(row, (first, first + chunk)))
            rows = (row[own] - first).astype(np.int32)
            lost = np.flatnonzero(np.isinf(distance[rows, target[own]]))
            if len(lost):
                self._no_route(int(source[own][lost[0]]), int(target[own][lost[0]]))
            seen, ways, found = np.empty(places, np.int64), *np.empty((2, places), np.int32)
            way = (
                distance, rows, source[own], target[own], weight, self.tail, inward, order,
                seen, ways, found,
            )  # fmt: skip
            stops = np.zeros(len(rows) + 1, dtype=np.int64)
            walked(*way, stops, np.empty(0, np.int32))
            links = np.empty(stops[-1], dtype=np.int32)
            walked(*way, stops, links)
            starts.append(stops[1:] + starts[-1][-1])
            parts.append(links)
        return np.concatenate(starts), np.concatenate(parts)

    def _distances(self, weight: F64, sources: I32) -> F64:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import dijkstra

        places = len(self.place)
        matrix = csr_array((weight, (self.tail, self.head)), shape=(places, places))
        return np.ascontiguousarray(dijkstra(matrix, indices=sources), dtype=np.float64)

    def _shown(self, link: int) -> str:
        ends = (self.cluster.links[link // 2].a, self.cluster.links[link // 2].b)
        return "{}-{}".format(*(ends if link % 2 == 0 else ends[::-1]))

    def _no_route(self, source: int, target: int) -> None:
        names = list(self.place)
        raise ModelError(
            f"No route leads from {names[source]!r} to {names[target]!r}.",
            cure="Add the missing link to the cluster file.",
        )


def _rates(link: Link) -> tuple[float, float]:
    """Bytes per ns in both directions, NaN where not known."""
    there, back = link.bytes_per_s, link.back_bytes_per_s
    kept = (1 - (link.loss or 0.0)) / 1e9
    there = np.nan if there is None else there * kept
    return there, there if back is None else back * kept
