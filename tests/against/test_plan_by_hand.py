"""Plans against the definition: every placement listed, and what must not change an answer."""

import numpy as np
import pytest
from drawn_clusters import a_job, by_brute_force, total_s, tree_cluster

from paceline import plan
from paceline.model import Cluster, Goal, Link, Machine, MachineKind


@pytest.mark.parametrize("law", ["equal", "speed"])
@pytest.mark.parametrize("overlay", ["forest", "ring"])
@pytest.mark.parametrize("seed", range(12))
def test_no_placement_is_better(seed: int, overlay: str, law: str) -> None:
    draw = np.random.default_rng(seed)
    machines, several = int(draw.integers(2, 7)), seed % 3 == 1
    cluster = tree_cluster(
        seed, min(machines, 4) if several else machines, slots=3 if several else 1,
        latency_us=100 if seed % 2 else 0, levels=seed % 2 == 1, busy=seed % 5 == 0,
    )  # fmt: skip
    job = a_job(seed, machines, overlap=[0.0, 0.5, 1.0][seed % 3])
    found = plan.best(job, cluster, law=law, overlay=overlay)
    made = found.certificate
    assert made is not None
    least = by_brute_force(job, cluster, law, overlay)
    assert made.objective_s == pytest.approx(least, rel=1e-7)
    assert made.lower_bound_s <= least * (1 + 1e-12)
    assert made.gap < 1e-6
    counts: dict[str, int] = {}
    for worker in found.workers:
        counts[worker.machine] = counts.get(worker.machine, 0) + 1
    assert total_s(job, cluster, counts, law, overlay) == pytest.approx(made.objective_s)


@pytest.mark.parametrize("law", ["equal", "speed"])
@pytest.mark.parametrize("seed", range(4))
def test_a_fixed_number_of_workers_is_kept(seed: int, law: str) -> None:
    cluster, job = tree_cluster(seed, 10), a_job(seed, 10)
    found = plan.best(job, cluster, Goal(min_workers=5, max_workers=5), law=law)
    assert len(found.workers) == 5


def test_a_hundred_thousand_machines_in_one_rack() -> None:
    count = 100_000
    machines = tuple(Machine(name=f"m{at}", kind="mid") for at in range(count))
    links = tuple(Link(a=m.name, b="rack", bytes_per_s=1.25e9) for m in machines)
    cluster = Cluster(kinds=(MachineKind(name="mid"),), machines=machines, links=links)
    made = plan.best(a_job(0, count), cluster, explain=False)
    assert made.certificate is not None
    assert made.certificate.gap <= 1e-3
    assert len(made.workers) > 1000
