"""Routes over a cluster, and the slowest link of a ring."""

from small_jobs import star

from paceline.model import Cluster, Link, Machine
from paceline.rewrite.routes import Routes


def racks() -> Cluster:
    """Two racks of two machines, a slow link between the switches and a slow way around."""
    machines = tuple(Machine(name=name) for name in ("a0", "b0", "a1", "b1"))
    links = (
        Link(a="a0", b="left", bytes_per_s=10.0, latency_ns=1),
        Link(a="a1", b="left", bytes_per_s=10.0, latency_ns=1),
        Link(a="right", b="b0", bytes_per_s=10.0, latency_ns=1),
        Link(a="right", b="b1", bytes_per_s=10.0, back_bytes_per_s=3.0, latency_ns=1, loss=0.5),
        Link(a="left", b="right", bytes_per_s=4.0, latency_ns=5),
        Link(a="a0", b="b0", bytes_per_s=1.0, latency_ns=9),
    )
    return Cluster(machines=machines, links=links)


def test_the_way_of_least_latency_is_taken():
    routes = Routes(racks())
    path = routes.path("a0", "b0")
    assert path == ((0, True), (4, True), (2, True))
    assert routes.latency_ns(path) == 7
    assert routes.path("b0", "a0") == ((2, False), (4, False), (0, False))
    assert routes.path("a0", "a0") == ()


def test_where_no_way_leads_there_is_none():
    routes = Routes(Cluster(links=(Link(a="x", b="y"), Link(a="u", b="v"))))
    assert routes.path("x", "v") is None
    assert routes.path("x", "nowhere") is None
    assert routes.path("nowhere", "x") is None
    assert routes.ring(("x", "v")) is None


def test_rates_have_a_direction_and_lose_what_is_lost():
    routes = Routes(racks())
    assert routes.rate((3, True)) == 5.0
    assert routes.rate((3, False)) == 1.5
    assert routes.rate((4, False)) == 4.0
    assert routes.slowest([((0, True), (4, True))]) == 4.0


def test_paths_that_share_a_link_share_its_rate():
    routes = Routes(racks())
    assert routes.slowest([((0, True),), ((0, True),)]) == 5.0
    assert routes.slowest([((0, True),), ((0, False),)]) == 10.0
    assert routes.slowest([()]) is None


def test_a_ring_goes_through_one_switch_after_the_other():
    routes = Routes(racks())
    ring = routes.ring(("a0", "b0", "a1", "b1"))
    assert ring is not None
    crossings = [step for path in ring for step in path if step[0] == 4]
    assert crossings == [(4, True), (4, False)]


def test_workers_of_one_machine_follow_each_other():
    routes = Routes(star(("m0", "m1")))
    ring = routes.ring(("m0", "m1", "m0", "m1"))
    assert ring is not None
    assert [len(path) for path in ring] == [0, 2, 0, 2]
