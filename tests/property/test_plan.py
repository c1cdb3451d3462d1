"""Laws of plans on random trees: renumbering, faster links, more machines, checks, tables."""

import itertools

import msgspec
import numpy as np
import pytest
from drawn_clusters import a_job, tree_cluster
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline import plan
from paceline.model import Cluster, Goal, Link, Machine, Plan
from paceline.plan.tails import expected_max
from paceline.reduce import ALL_REDUCE

replace = msgspec.structs.replace
SEEDS = st.integers(0, 10**6)
LAWS = st.sampled_from(["equal", "speed"])
OVERLAYS = st.sampled_from(["forest", "ring"])


def total(cluster: Cluster, seed: int, law: str, overlay: str) -> float:
    made = plan.best(a_job(seed, 12), cluster, law=law, overlay=overlay, explain=False)
    assert made.certificate is not None
    assert made.certificate.gap <= 1e-6
    return made.certificate.objective_s


@settings(max_examples=25)
@given(SEEDS, LAWS, OVERLAYS)
def test_the_order_of_machines_and_links_changes_nothing(seed: int, law: str, overlay: str) -> None:
    cluster = tree_cluster(seed, 12, slots=2)
    draw = np.random.default_rng(seed)
    machines = [cluster.machines[at] for at in draw.permutation(len(cluster.machines))]
    links = [cluster.links[at] for at in draw.permutation(len(cluster.links))]
    turned = [
        replace(x, a=x.b, b=x.a, bytes_per_s=x.back_bytes_per_s, back_bytes_per_s=x.bytes_per_s)
        if x.back_bytes_per_s
        else x
        for x in links
    ]
    other = replace(cluster, machines=tuple(machines), links=tuple(turned))
    assert total(other, seed, law, overlay) == pytest.approx(
        total(cluster, seed, law, overlay), rel=1e-6
    )


@settings(max_examples=25)
@given(SEEDS, LAWS, OVERLAYS)
def test_a_faster_link_or_machine_is_never_worse(seed: int, law: str, overlay: str) -> None:
    cluster = tree_cluster(seed, 12)
    before = total(cluster, seed, law, overlay)
    draw = np.random.default_rng(seed)
    at = int(draw.integers(len(cluster.links)))
    link = cluster.links[at]
    wider = replace(
        link, bytes_per_s=3 * (link.bytes_per_s or 0),
        back_bytes_per_s=None if link.back_bytes_per_s is None else 3 * link.back_bytes_per_s,
    )  # fmt: skip
    links = (*cluster.links[:at], wider, *cluster.links[at + 1 :])
    assert total(replace(cluster, links=links), seed, law, overlay) <= before * (1 + 1e-7)
    at = int(draw.integers(len(cluster.machines)))
    own = cluster.machines[at]
    faster = replace(own, speed=2 * (own.speed or 1), slots=own.slots + 1)
    machines = (*cluster.machines[:at], faster, *cluster.machines[at + 1 :])
    assert total(replace(cluster, machines=machines), seed, law, overlay) <= before * (1 + 1e-7)


@settings(max_examples=15)
@given(SEEDS, LAWS, st.sampled_from([*plan.OVERLAYS, "any"]))
def test_plans_and_their_routes_pass_the_check(seed: int, law: str, overlay: str) -> None:
    cluster = tree_cluster(seed, 9, slots=2, latency_us=30, busy=True)
    job = a_job(seed, 9)
    made = plan.best(job, cluster, law=law, overlay=overlay, compare=True)
    plan.check(made, job, cluster, routes=plan.routes(made, cluster))
    assert sum(worker.share for worker in made.workers) == pytest.approx(1)


def load_s(made: Plan, cluster: Cluster, overlay: str, size: float) -> float:
    """The busiest link and direction by the tables of `reduce` along the plan's routes."""
    names = [worker.machine for worker in made.workers]
    order: dict[str, list[int]] = {}
    for rank, name in enumerate(names):
        order.setdefault(name, []).append(rank)
    table = ALL_REDUCE[overlay](list(order.values()))
    ways = {(route.source, route.target): route.links for route in plan.routes(made, cluster)}
    loads: dict[tuple[str, str], float] = {}
    for one, other, share in zip(table.source, table.target, table.share, strict=True):
        for link in ways[str(one), str(other)]:
            loads[link] = loads.get(link, 0.0) + float(share)
    rate = {
        pair: min(x.bytes_per_s or 0, x.back_bytes_per_s or x.bytes_per_s or 0)
        for x in cluster.links
        for pair in ((x.a, x.b), (x.b, x.a))
    }
    return max((size * part / rate[link] for link, part in loads.items()), default=0.0)


@settings(max_examples=15)
@given(SEEDS, st.sampled_from(["ring", "tree"]))
def test_loads_are_what_the_tables_send(seed: int, overlay: str) -> None:
    cluster, job = tree_cluster(seed, 9, slots=2), a_job(seed, 9)
    made = plan.best(job, cluster, Goal(min_workers=6), overlay=overlay, explain=False)
    sent = load_s(made, cluster, overlay, float(job.gradient_bytes or 0))
    assert 1e3 * sent == pytest.approx(made.estimate.communication_ms)


def test_a_forest_on_equal_racks_is_what_the_table_sends() -> None:
    from two_racks import a_job as job_of
    from two_racks import two_racks

    cluster = two_racks(
        machines=tuple(replace(m, slots=1, busy=0) for m in two_racks().machines),
        links=tuple(replace(x, latency_ns=0) for x in two_racks().links),
    )
    made = plan.best(job_of(), cluster, Goal(min_workers=6), law="speed", overlay="forest")
    table = ALL_REDUCE["forest"]([[0, 1, 2], [3, 4, 5]])
    out = np.bincount(table.source, table.share)
    assert made.estimate.communication_ms == pytest.approx(1e3 * 1e8 * out.max() / 1.25e9)


@settings(max_examples=20)
@given(st.integers(1, 200), st.integers(0, 200), SEEDS)
def test_the_expected_maximum_is_that_of_draws(one: int, other: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = np.sort(draw.uniform(1, 2, (2, 11)), axis=1)
    found = expected_max(rows, [one, other])
    levels = np.linspace(0, 1, 11)
    slowest = np.interp(draw.random((4000, one)), levels, rows[0]).max(axis=1)
    if other:
        second = np.interp(draw.random((4000, other)), levels, rows[1]).max(axis=1)
        slowest = np.maximum(slowest, second)
    error = slowest.std() / 4000**0.5
    assert abs(found - slowest.mean()) <= 5 * error + 1e-9
    assert found <= max(rows[0].max(), rows[1].max()) + 1e-12


def test_planner_and_checker_integrate_tails_alike() -> None:
    from paceline.plan.check.times import _expected_max

    draw = np.random.default_rng(5)
    for counts in itertools.product((1, 3, 50, 4000), repeat=2):
        rows = np.sort(draw.uniform(1, 2, (2, 11)), axis=1)
        own = {tuple(row.tolist()): count for row, count in zip(rows, counts, strict=True)}
        assert _expected_max(own) == pytest.approx(expected_max(rows, list(counts)), rel=1e-5)


def a_mesh(seed: int, machines: int) -> Cluster:
    draw = np.random.default_rng(seed)
    kinds = tree_cluster(seed, machines).kinds
    made = tuple(
        Machine(name=f"m{at}", kind=str(draw.choice([kind.name for kind in kinds])))
        for at in range(machines)
    )
    links = tuple(
        Link(
            a=f"m{one}",
            b=f"m{other}",
            bytes_per_s=float(draw.lognormal(1, 0.8)) * 1e9 / 8,
            back_bytes_per_s=float(draw.lognormal(1, 0.8)) * 1e9 / 8,
        )
        for one in range(machines)
        for other in range(one)
        if one - other in (1, machines - 1) or draw.random() < 0.3
    )
    return Cluster(kinds=kinds, machines=made, links=links)


@settings(max_examples=8)
@given(SEEDS, LAWS, st.sampled_from([5, 8, 15]))
def test_plans_on_meshes_pass_the_check_and_keep_their_bound(
    seed: int, law: str, machines: int
) -> None:
    """Up to twelve places the checker lists cuts, beyond it asks another maximum flow."""
    cluster, job = a_mesh(seed, machines), a_job(seed, machines)
    most = plan.best(job, cluster, Goal(min_workers=machines), law=law, explain=False)
    free = plan.best(job, cluster, law=law, compare=True)
    assert most.certificate is not None
    assert free.certificate is not None
    assert free.certificate.lower_bound_s <= free.certificate.objective_s
    assert free.certificate.objective_s <= most.certificate.objective_s * (1 + 1e-9)
    assert free.certificate.gap < 1e-9 or machines > 12
