"""Turns collectives into the messages that their algorithm sends, so that they play as flows.

A collective op becomes two: one that has come, one that is over. Between them lie sends and
receives on lanes of their own. No message leaves before both its ends have come, as with buffers
that the receiver must offer. The sums themselves are taken to cost nothing, and messages within a
machine as well, unless the cluster gives it links.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.model import (
    I32,
    OPERATIONS,
    Cluster,
    Graph,
    Kind,
    ModelError,
    Times,
    operation,
)
from paceline.reduce import ALL_REDUCE, OTHERS, Near, Transfers
from paceline.simulate.inserted import Piece, Site, inserted
from paceline.simulate.network import Network
from paceline.simulate.placement import places, worker_rows
from paceline.simulate.sound import named, sound

Ops = npt.NDArray[np.intp]

MOST = 2**21  # messages of one collective


class Lowered(NamedTuple):
    """A graph of messages with its times, and for each of its ops the op that it came from."""

    graph: Graph
    times: Times
    origin: I32


def lowered(
    graph: Graph,
    times: Times,
    cluster: Cluster,
    machines: Mapping[int, str] | None = None,
    *,
    every: bool = False,
) -> Lowered:
    """The graph with its collectives of unknown duration (or all of them) as sends and receives."""
    sound(graph, times)
    network = Network.of(cluster)
    if every:
        meets = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    else:
        meets = open_collectives(graph, times)
    return expanded(graph, times, meets, network, places(graph, network, machines))


def open_collectives(graph: Graph, times: Times) -> Ops:
    """The members of collectives of which no member's duration is known."""
    meets = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    known = np.zeros(len(graph.match_group), dtype=bool)
    known[graph.match[meets[times.duration_ns[meets] >= 0]]] = True
    return meets[~known[graph.match[meets]]]


def expanded(graph: Graph, times: Times, meets: Ops, network: Network, place: I32) -> Lowered:
    """The graph with the collectives of these ops as sends and receives."""
    if not len(meets):
        return Lowered(graph, times, np.arange(len(graph), dtype=np.int32))
    at = place[worker_rows(graph)]
    switch = _switches(network)
    plans: dict[tuple[int, str | None, tuple[int, ...]], Transfers] = {}
    pieces: list[Piece] = []
    for ops in _meetings(graph, meets):
        work = graph.works[int(graph.work[ops[0]])]
        what = operation(work)
        key = (what, work.algorithm, tuple(at[ops].tolist()))
        if key not in plans:
            plans[key] = _plan(graph, int(ops[0]), OPERATIONS[what], at[ops], switch)
        pieces.append(Piece(ops, _size(graph, ops, OPERATIONS[what]), plans[key]))
    new, new_times, origin = inserted(Site(graph, times, meets, at, network), pieces)
    return Lowered(new, new_times, origin)


def _meetings(graph: Graph, meets: Ops) -> list[Ops]:
    """The ops of each collective, in the order of its group."""
    match = graph.match[meets]
    worker = graph.worker[meets].astype(np.int64)
    turn = worker.copy()
    group = graph.match_group[match]
    for at in np.unique(group[group >= 0]):
        members = graph.groups[int(at)].members
        if members is not None:
            order = {rank: turn for turn, rank in enumerate(members)}
            own = np.flatnonzero(group == at)
            turn[own] = [order.get(int(rank), len(order) + int(rank)) for rank in worker[own]]
    order = np.lexsort((turn, match))
    cuts = np.flatnonzero(np.diff(match[order])) + 1
    return np.split(meets[order], cuts) if len(meets) else []


def _size(graph: Graph, ops: Ops, what: str) -> int:
    size = int(graph.size_bytes[ops].max())
    if size < 0 and what != "barrier":
        raise ModelError(
            f"The size of {named(graph, int(ops[0]))} is not known, nor is its duration.",
            cure="Give it one of the two.",
        )
    return max(size, 0)


def _switches(network: Network) -> I32:
    """By place: the switch that a machine hangs on, itself where there is none."""
    machines = len(network.cluster.machines)
    out = np.arange(len(network.place), dtype=np.int32)
    hung = np.flatnonzero((network.tail < machines) & (network.head >= machines))[::-1]
    out[network.tail[hung]] = network.head[hung]
    return out


def _plan(graph: Graph, op: int, what: str, at: I32, switch: I32) -> Transfers:
    algorithm = graph.works[int(graph.work[op])].algorithm
    name = "ring" if algorithm is None else algorithm
    if what == "all_reduce" and name not in ALL_REDUCE:
        raise ModelError(
            f"The algorithm {name!r} of {named(graph, op)} is not known.",
            expected=f"Known are {', '.join(ALL_REDUCE)}.",
            cure="Choose one with the edit collective{algorithm=ring}.",
        )
    plan = ALL_REDUCE[name] if what == "all_reduce" else OTHERS[what]
    wide = what == "all_to_all" or (what == "all_reduce" and name == "forest")
    if wide and 2 * len(at) ** 2 > MOST:
        raise ModelError(
            f"{named(graph, op)} has {len(at)} members: that is {2 * len(at) ** 2} messages.",
            expected=f"At most {MOST} messages of one collective are simulated.",
            cure="Choose ring, tree or hierarchical, or give it a duration.",
        )
    return plan(_near(at, switch, what == "all_reduce" and name in {"hierarchical", "forest"}))


def _near(at: I32, switch: I32, wide: bool) -> Near:
    """Members by machine; by switch if neighborhoods matter and no machine has two of them.

    Machines of one switch follow one another, in the order in which their first member comes.
    """
    by_machine = _grouped(at.tolist())
    by_switch = _grouped([int(switch[place]) for place in at])
    if wide and len(by_machine) == len(at):
        return by_switch
    spot = {member: number for number, group in enumerate(by_switch) for member in group}
    return sorted(by_machine, key=lambda group: (spot[group[0]], group[0]))


def _grouped(keys: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for member, key in enumerate(keys):
        groups.setdefault(key, []).append(member)
    return list(groups.values())
