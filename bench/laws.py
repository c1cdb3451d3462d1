"""Laws of the simulator: textbook formulas on uneven links, longest paths, bounds of a step.

Formulas and longest paths share no code with the simulator: the formulas are written out here, the
paths are networkx's. Hand-made jobs come from the tests (`tests/property/small_jobs.py`).
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "property"))

from small_jobs import Small

from paceline import simulate
from paceline.model import Cluster, Graph, Kind, Link, Machine, Times
from paceline.reduce import ALL_REDUCE

SIZE = 10**9
MEMBERS = (2, 3, 4, 5, 7, 8, 12, 16, 24, 32)
FORMS = ("ring", "tree", "ps")


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


def formula(algorithm: str, cluster: Cluster) -> float:
    """What a textbook says of one all-reduce, in ns, from the rates out of and into each machine.

    ring: 2 (n - 1) rounds as long as the slowest link takes for S / n. ps: everybody's S into the
    server, then S out to everybody, or the slowest worker. tree: S / 2 each way for each neighbor
    of a member in two trees, streamed, so that the busiest link never idles.
    """
    out = [(link.bytes_per_s or 0) / 1e9 for link in cluster.links]
    into = [(link.back_bytes_per_s or 0) / 1e9 for link in cluster.links]
    members = len(out)
    if algorithm == "ring":
        return 2 * (members - 1) * (SIZE / members / min(*out, *into) + 2000)
    if algorithm == "ps":
        push = max((members - 1) * SIZE / into[0], SIZE / min(out[1:]))
        return push + max((members - 1) * SIZE / out[0], SIZE / min(into[1:])) + 4000
    plan = ALL_REDUCE["tree"]([[at] for at in range(members)])
    degree = np.bincount(plan.source, minlength=members)
    return float(max(degree * SIZE / 2 / np.minimum(out, into)))


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


def drawn(seed: int, ops: int) -> Small:
    """Compute, messages and meetings on two lanes of a few workers, with random dependencies."""
    draw = np.random.default_rng(seed)
    workers = int(draw.integers(2, 7))
    small = Small(workers)
    small.group("all")
    for number in range(ops):
        ready = len(small.rows)
        after = draw.integers(0, ready, int(draw.integers(0, 3))).tolist() if ready else []
        lead, ns = int(draw.integers(0, 50)), int(draw.integers(0, 1000))
        kind = draw.choice(["compute", "compute", "compute", "message", "meeting"])
        if kind == "compute":
            lane = "ab"[int(draw.integers(2))]
            small.add(int(draw.integers(workers)), lane, "compute", ns, *after, lead=lead)
        elif kind == "message":
            source, target = draw.permutation(workers)[:2].tolist()
            small.add(source, "out", "send", ns, *after, match=f"m{number}", lead=lead)
            small.add(target, "in", "recv", int(draw.integers(1000)), match=f"m{number}")
        else:
            for worker in range(workers):
                own = after if worker == 0 else ()
                small.add(worker, "comm", "collective", ns, *own, match=f"c{number}", lead=lead)
    return small


def longest(graph: Graph, times: Times) -> int:
    """The longest path: every op an edge from start to end; members of a meeting share a node."""
    net, last = nx.DiGraph(), Counter[int]()
    before: dict[tuple[int, int], int] = {}
    met = graph.match.tolist()
    talks = [graph.kind[op] == Kind.COLLECTIVE and met[op] >= 0 for op in range(len(graph))]
    for op in np.flatnonzero(talks).tolist():
        last[met[op]] = max(last[met[op]], int(times.duration_ns[op]))
    sends = {met[op]: op for op in np.flatnonzero(graph.kind == Kind.SEND).tolist()}
    for op in range(len(graph)):
        ready, start, end = ("ready", op), ("start", op), ("end", op)
        net.add_edge("step", ready, weight=0)
        net.add_edge(ready, start, weight=int(times.lead_ns[op]))
        place = (int(graph.worker[op]), int(graph.lane[op]))
        for other in graph.after(op).tolist() + ([before[place]] if place in before else []):
            net.add_edge(("end", other), ready, weight=0)
        before[place] = op
        if talks[op]:
            net.add_edge(start, ("all came", met[op]), weight=0)
            net.add_edge(("all came", met[op]), end, weight=last[met[op]])
            continue
        net.add_edge(start, end, weight=int(times.duration_ns[op]))
        if graph.kind[op] == Kind.RECV and met[op] in sends:
            net.add_edge(("start", sends[met[op]]), end, weight=int(times.duration_ns[op]))
    return int(nx.dag_longest_path_length(net))


def measured(seeds: int, graphs: int) -> dict[str, object]:
    """Worst errors and counts."""
    errors = {
        form: [
            abs(simulated(form, uneven(n, seed)) / formula(form, uneven(n, seed)) - 1)
            for n in MEMBERS
            for seed in range(seeds)
        ]
        for form in FORMS
    }
    equal = ordered = ops = 0
    for seed in range(graphs):
        small = drawn(seed, 20 + seed % 200)
        graph, times = small.graph, small.times
        line = simulate.timeline(graph, times)
        path = simulate.critical_path(graph, times, line)
        serial = int(times.duration_ns.sum() + times.lead_ns.sum())
        ops += len(graph)
        equal += longest(graph, times) == int(line.end_ns.max())
        ordered += path.length_ns <= line.step_ns <= serial
    return {
        "cases": seeds * len(MEMBERS),
        "median": {form: float(np.median(own)) for form, own in errors.items()},
        "worst": {form: max(own) for form, own in errors.items()},
        "graphs": graphs, "ops": ops, "equal": equal, "ordered": ordered,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--graphs", type=int, default=1000)
    given = parser.parse_args()
    found = measured(given.seeds, given.graphs)
    if given.json:
        print(json.dumps(found))
        return
    rows = "\n".join(
        f"| {form} | {100 * found['median'][form]:.4f} % | {100 * found['worst'][form]:.4f} % |"
        for form in FORMS
    )
    print(f"""## Laws of the simulator

Asked: closed forms of ring, tree and parameter server on uneven links within 1 %; networkx's
longest path equal on graphs of lanes alone; critical path <= step <= serial sum on random graphs.

| all-reduce of 1 GB on {found["cases"]} stars of 2 to 32 uneven links | median error | worst |
|---|---:|---:|
{rows}

Of {found["graphs"]:,} random graphs ({found["ops"]:,} ops with messages, collectives and
dependencies) {found["equal"]:,} have networkx's longest path as their length, to the nanosecond,
and in {found["ordered"]:,} the critical path is no longer than the step and the step no longer
than the serial sum.

Method: bench/laws.py; rates of links drawn from 0.3 to 3 GB/s each way, 1 µs of latency a link.""")


if __name__ == "__main__":
    main()
