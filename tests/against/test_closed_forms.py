"""Collectives on links unlike each other, against the formulas of textbooks; no code in common.

Machines around a switch, each direction of each link with a rate of its own. With S bytes, n
members, and out_i, in_i the rates of member i:

- ring: in each of 2 (n - 1) rounds everybody passes on S / n; the round lasts as long as the
  slowest link takes, and waiting spreads around the ring, so all rounds do.
- tree: half of the buffer flows up and down each of two trees at once, in small pieces, so a link
  carries S / 2 each way for each parent and child of its member, and the busiest link never idles.
- ps: everybody's S into the server, then S out of the server to everybody; or the slowest worker.
"""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from drawn_jobs import lane_jobs
from hypothesis import given
from small_jobs import Small

from paceline import simulate
from paceline.model import Cluster, Kind, Link, Machine, Times
from paceline.reduce import ALL_REDUCE

SIZE = 10**9
MEMBERS = (2, 3, 4, 7, 8, 16)


def uneven(members: int, seed: int) -> Cluster:
    """A star whose links have rates between 0.3 and 3 bytes a ns, each way another."""
    draw = np.random.default_rng(seed)
    return Cluster(
        machines=tuple(Machine(name=f"m{at}") for at in range(members)),
        links=tuple(
            Link(
                a=f"m{at}", b="switch", latency_ns=1000,
                bytes_per_s=1e9 * float(draw.uniform(0.3, 3)),
                back_bytes_per_s=1e9 * float(draw.uniform(0.3, 3)),
            )
            for at in range(members)
        ),
    )  # fmt: skip


def rates(cluster: Cluster) -> tuple[list[float], list[float]]:
    """Out of and into each machine, in bytes per ns."""
    return (
        [(link.bytes_per_s or 0) / 1e9 for link in cluster.links],
        [(link.back_bytes_per_s or 0) / 1e9 for link in cluster.links],
    )


def simulated(algorithm: str, cluster: Cluster) -> int:
    """One all-reduce of all machines of a cluster."""
    members = len(cluster.machines)
    small = Small(members)
    small.group("dp")
    first = {worker: small.add(worker, "gpu", "compute", 0) for worker in range(members)}
    small.reduce("a", 0, SIZE, first, algorithm=algorithm)
    graph = small.graph
    times = Times(
        duration_ns=np.where(graph.kind == Kind.COLLECTIVE, -1, 0), lead_ns=small.times.lead_ns
    )
    return simulate.timeline(graph, times, cluster).step_ns


@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_ring_is_as_fast_as_its_slowest_link(members: int, seed: int) -> None:
    cluster = uneven(members, seed)
    out, into = rates(cluster)
    rounds = 2 * (members - 1)
    formula = rounds * (SIZE / members / min(*out, *into) + 2000)
    assert simulated("ring", cluster) == pytest.approx(formula, rel=0.01)


@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_server_takes_in_everything_and_hands_it_out(members: int, seed: int) -> None:
    cluster = uneven(members, seed)
    out, into = rates(cluster)
    push = max((members - 1) * SIZE / into[0], SIZE / min(out[1:]))
    pull = max((members - 1) * SIZE / out[0], SIZE / min(into[1:]))
    assert simulated("ps", cluster) == pytest.approx(push + pull + 4000, rel=0.01)


@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_as_fast_as_its_busiest_link(members: int, seed: int) -> None:
    cluster = uneven(members, seed)
    plan = ALL_REDUCE["tree"]([[at] for at in range(members)])
    leaving, coming = (np.bincount(ends, minlength=members) for ends in (plan.source, plan.target))
    assert (leaving == coming).all()
    assert leaving.max() <= 4  # a parent and two children in one tree, a parent in the other
    out, into = rates(cluster)
    formula = max(
        degree * SIZE / 2 / min(one, other)
        for degree, one, other in zip(leaving.tolist(), out, into, strict=True)
    )
    assert simulated("tree", cluster) == pytest.approx(formula, rel=0.01)


@given(lane_jobs())
def test_steps_of_lanes_are_longest_paths(small: Small) -> None:
    """Every op is an edge from its start to its end; members of a meeting share two nodes."""
    graph, times = small.graph, small.times
    if not len(graph):
        return
    net = nx.DiGraph()
    before: dict[tuple[int, int], int] = {}
    longest: Counter[int] = Counter()
    for op in range(len(graph)):
        meets = graph.kind[op] == Kind.COLLECTIVE and graph.match[op] >= 0
        if meets:
            met = int(graph.match[op])
            longest[met] = max(longest[met], int(times.duration_ns[op]))
    sends = {int(graph.match[op]): op for op in np.flatnonzero(graph.kind == Kind.SEND).tolist()}
    for op in range(len(graph)):
        ready, start, end = ("ready", op), ("start", op), ("end", op)
        net.add_edge("step", ready, weight=0)
        net.add_edge(ready, start, weight=int(times.lead_ns[op]))
        place = (int(graph.worker[op]), int(graph.lane[op]))
        waits = graph.after(op).tolist() + ([before[place]] if place in before else [])
        before[place] = op
        for other in waits:
            net.add_edge(("end", other), ready, weight=0)
        met = int(graph.match[op])
        if graph.kind[op] == Kind.COLLECTIVE and met >= 0:
            net.add_edge(start, ("all came", met), weight=0)
            net.add_edge(("all came", met), end, weight=longest[met])
        else:
            net.add_edge(start, end, weight=int(times.duration_ns[op]))
            if graph.kind[op] == Kind.RECV and met in sends:
                net.add_edge(("start", sends[met]), end, weight=int(times.duration_ns[op]))
    line = simulate.timeline(graph, times)
    assert nx.dag_longest_path_length(net) == int(line.end_ns.max())
