"""Plans on random trees equal the optimum of an exact program for whole numbers."""

import numpy as np
import pytest
from drawn_clusters import a_job, tree_cluster

from paceline import plan
from paceline.model import Goal
from plan_milp import solved


@pytest.mark.parametrize("law", ["equal", "speed"])
@pytest.mark.parametrize("overlay", ["forest", "ring"])
@pytest.mark.parametrize("seed", range(6))
def test_equal_to_the_exact_program(seed: int, overlay: str, law: str) -> None:
    machines = (6, 10, 14, 18, 22, 26)[seed]
    cluster = tree_cluster(seed, machines, slots=1 + seed % 2)
    job = a_job(seed, machines)
    free = sum(machine.slots - machine.busy for machine in cluster.machines)
    n = int(np.random.default_rng(seed).integers(2, free + 1))
    found = plan.best(
        job, cluster, Goal(min_workers=n, max_workers=n), law=law, overlay=overlay, explain=False
    )
    assert found.certificate is not None
    value, bound, done = solved(job, cluster, n, law, overlay, 20.0)
    assert bound <= found.certificate.objective_s * (1 + 1e-6)
    assert found.certificate.objective_s <= value * (1 + 1e-6)
    assert done
