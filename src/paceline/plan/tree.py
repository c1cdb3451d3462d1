"""A cluster's network as a rooted tree, if it is one.

Machines and switches are places, numbered so that every subtree is a range: racks and pods are
slices of arrays. Each place knows the link to the place above it, by its slower direction.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I32, Cluster, Link, ModelError
from paceline.plan.preorder import numbered


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tree:
    """Places in an order in which each subtree is the range from a place to its `end`."""

    names: tuple[str, ...]
    parent: I32  # 0 at the root, which is place 0
    end: I32
    slow_s: F64  # seconds a byte over the link to the parent, by its slower way; 0 at the root
    latency_s: F64
    link: I32  # position of that link in the cluster, -1 at the root
    machine: I32  # the place of each machine of the cluster

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Net:
    """The places and links of a cluster, checked: all rates known, all machines joined."""

    names: tuple[str, ...]  # machines first, in file order
    tail: I32
    head: I32
    rate: F64  # bytes per second from tail to head
    rate_back: F64
    latency_s: F64


def net(cluster: Cluster) -> Net:
    """The network of a cluster; ModelError where it has no rates or falls apart."""
    names = dict.fromkeys(machine.name for machine in cluster.machines)
    for link in cluster.links:
        names[link.a] = names[link.b] = None
    at = {name: place for place, name in enumerate(names)}
    found = Net(
        names=tuple(names),
        tail=np.array([at[link.a] for link in cluster.links], dtype=np.int32),
        head=np.array([at[link.b] for link in cluster.links], dtype=np.int32),
        rate=np.array([_rate(link) for link in cluster.links], dtype=np.float64),
        rate_back=np.array([_rate(link, back=True) for link in cluster.links], dtype=np.float64),
        latency_s=np.array([(link.latency_ns or 0) / 1e9 for link in cluster.links]),
    )
    _joined(found, len(cluster.machines))
    return found


def _rate(link: Link, *, back: bool = False) -> float:
    rate = link.bytes_per_s
    if back and link.back_bytes_per_s is not None:
        rate = link.back_bytes_per_s
    if rate is None or not rate > 0:
        raise ModelError(
            f"the rate of the link {link.a} - {link.b} is {'zero' if rate == 0 else 'not known'}.",
            expected="A plan needs the rate of every link.",
            cure="Give it one, such as rate: 10Gbit, or take the link out.",
        )
    return rate * (1 - (link.loss or 0.0))  # a link that loses packets carries that much less


def _joined(found: Net, machines: int) -> None:
    """Refuses machines that no links join."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size = len(found.names)
    matrix = csr_array((np.ones(len(found.tail)), (found.tail, found.head)), shape=(size, size))
    _, part = connected_components(matrix, directed=False)
    lost = np.flatnonzero(part[:machines] != part[0])
    if len(lost):
        raise ModelError(
            f"no links join machine {found.names[int(lost[0])]!r} to {found.names[0]!r}"
            f" ({len(lost):,} of {machines:,} machines are cut off from it).",
            expected="All machines of a cluster are joined by links.",
            cure="Add the missing links to the cluster file, or take those machines out.",
        )


def is_tree(found: Net) -> bool:
    """True if there is one way only between any two places."""
    return len(found.tail) == len(found.names) - 1


def rooted(found: Net, machines: int) -> Tree:
    """The network as a tree, rooted in its middle."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    size = len(found.names)
    ones = np.ones(len(found.tail), dtype=np.int8)
    matrix = csr_array((ones, (found.tail, found.head)), shape=(size, size))
    matrix = (matrix + matrix.T).tocsr()
    order, above = breadth_first_order(matrix, 0)
    order, above = breadth_first_order(matrix, order[-1])
    order, above = breadth_first_order(matrix, _halfway(order, above))
    order, above = order.astype(np.int32), above.astype(np.int32)
    spot, end = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
    numbered(order, above, spot, end)
    place = np.empty(size, dtype=np.int32)
    place[spot] = np.arange(size, dtype=np.int32)  # by number, the place in the net
    lower = np.where(above[found.head] == found.tail, found.head, found.tail)
    slow, latency = np.zeros(size), np.zeros(size)
    link = np.full(size, -1, dtype=np.int32)
    slow[spot[lower]] = 1 / np.minimum(found.rate, found.rate_back)
    latency[spot[lower]] = found.latency_s
    link[spot[lower]] = np.arange(len(found.tail), dtype=np.int32)
    parent = spot[np.maximum(above[place], 0)]
    parent[0] = 0
    return Tree(
        names=tuple(found.names[at] for at in place.tolist()),
        parent=parent,
        end=end[place],
        slow_s=slow,
        latency_s=latency,
        link=link,
        machine=spot[:machines].copy(),
    )


def _halfway(order: I32, above: I32) -> int:
    """The middle of the way from the first place of an order to its last."""
    way = [int(order[-1])]
    while above[way[-1]] >= 0:
        way.append(int(above[way[-1]]))
    return way[len(way) // 2]
