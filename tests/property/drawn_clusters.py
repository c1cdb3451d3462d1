"""Random clusters and jobs for the planner, and the answer straight from the definition.

Shares no code with the planner: sides of links are found by walking, sets of workers are listed.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from paceline.model import Cluster, Job, Link, Machine, MachineKind

SPEEDS = {"slow": 0.5, "mid": 1.0, "fast": 2.0}


def tree_cluster(
    seed: int, machines: int, *, switches: int | None = None, slots: int = 1, latency_us: int = 0,
    busy: bool = False, levels: bool = False,
) -> Cluster:  # fmt: skip
    """A random tree; with `levels` every machine is equally deep."""
    draw = np.random.default_rng(seed)
    count = max(1, machines // 4) if switches is None else switches
    names = [f"s{at}" for at in range(count)]
    rates = np.array([5, 10, 10, 25, 25, 40, 100]) * 1e9 / 8

    def link(a: str, b: str) -> Link:
        there, back = draw.choice(rates, 2)
        return Link(
            a=a, b=b, bytes_per_s=float(there), latency_ns=latency_us * 1000,
            back_bytes_per_s=float(back) if draw.random() < 0.2 else None,
        )  # fmt: skip

    above = [0 if levels else int(draw.integers(at)) for at in range(1, count)]
    links = [link(names[at + 1], names[to]) for at, to in enumerate(above)]
    made: list[Machine] = []
    for at in range(machines):
        free = int(draw.integers(1, slots + 1))
        taken = int(draw.integers(0, free + 1)) if busy and at else 0
        made.append(
            Machine(
                name=f"m{at}", kind=str(draw.choice(list(SPEEDS))), slots=free, busy=taken,
                speed=float(draw.choice([0.9, 1.0, 1.1])),
            )
        )  # fmt: skip
        first = 1 if levels and count > 1 else 0
        links.append(link(f"m{at}", names[int(draw.integers(first, count))]))
    kinds = tuple(MachineKind(name=name, speed=speed) for name, speed in SPEEDS.items())
    return Cluster(kinds=kinds, machines=tuple(made), links=tuple(links))


def a_job(seed: int, machines: int, **changes: object) -> Job:
    """A job whose compute and communication weigh about the same."""
    draw = np.random.default_rng(seed + 10**6)
    facts: dict[str, object] = {
        "gradient_bytes": int(draw.choice([5, 20, 50, 200])) * 10**6,
        "local_batch": 32, "step_time_ns": {"mid": 200_000_000}, "n_crit": machines / 2,
        "steps_at_large_batch": 1000.0,
    }  # fmt: skip
    return Job(**(facts | changes))  # type: ignore[arg-type]


def step_s(job: Job, machine: Machine) -> float:
    """What a step computes on a machine."""
    return job.step_time_ns["mid"] / 1e9 / SPEEDS[machine.kind or "mid"] / (machine.speed or 1.0)


def sides(cluster: Cluster) -> list[tuple[set[str], float, float]]:
    """For each link of a tree: the machines on one side, its slower rate, its latency."""
    found: list[tuple[set[str], float, float]] = []
    names = {machine.name for machine in cluster.machines}
    for cut in cluster.links:
        near: dict[str, list[str]] = {}
        for link in cluster.links:
            if link is not cut:
                near.setdefault(link.a, []).append(link.b)
                near.setdefault(link.b, []).append(link.a)
        seen, todo = {cut.a}, [cut.a]
        while todo:
            for other in near.get(todo.pop(), []):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        rate = min(cut.bytes_per_s or 0, cut.back_bytes_per_s or cut.bytes_per_s or 0)
        found.append((seen & names, rate, (cut.latency_ns or 0) / 1e9))
    return found


def total_s(
    job: Job, cluster: Cluster, counts: dict[str, int], law: str, overlay: str,
    known: list[tuple[set[str], float, float]] | None = None,
) -> float:  # fmt: skip
    """The time to the target with so many workers on each machine, by the definition."""
    n = sum(counts.values())
    size = float(job.gradient_bytes or 0)
    longest, below, used = 0.0, known or sides(cluster), [m for m in counts if counts[m]]
    for names, rate, _ in below:
        k = sum(count for name, count in counts.items() if name in names)
        if 0 < k < n:
            part = max(k, n - k) if overlay == "forest" else n - 1
            longest = max(longest, 2 * size * part / n / rate)
    apart = max(
        (
            sum(latency for names, _, latency in below if (one in names) != (other in names))
            for one, other in itertools.combinations(used, 2)
        ),
        default=0.0,
    )
    rounds = 0 if n == 1 else 2 * (n - 1) if overlay == "ring" else 4
    times = {m.name: step_s(job, m) for m in cluster.machines}
    if law == "equal":
        compute = max(times[name] for name in used)
    else:
        compute = n / sum(counts[name] / times[name] for name in used)
    communication = longest + rounds * apart
    hidden = (job.overlap or 0.0) * communication
    step = max(compute + communication - hidden, communication)
    return float(job.steps_at_large_batch or 0) * (1 + (job.n_crit or 0) / n) * step


def placements(cluster: Cluster) -> Iterator[dict[str, int]]:
    """Every way to put workers on free slots."""
    free = [(m.name, range(m.slots - m.busy + 1)) for m in cluster.machines]
    for counts in itertools.product(*(numbers for _, numbers in free)):
        if any(counts):
            yield {name: count for (name, _), count in zip(free, counts, strict=True) if count}


def by_brute_force(job: Job, cluster: Cluster, law: str, overlay: str) -> float:
    """The least time of all."""
    known = sides(cluster)
    return min(total_s(job, cluster, counts, law, overlay, known) for counts in placements(cluster))
