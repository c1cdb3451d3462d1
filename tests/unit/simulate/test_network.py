"""Which way a message takes, and what it costs on the way."""

import numpy as np
import pytest

from paceline.model import Cluster, Link, Machine, ModelError
from paceline.simulate.network import Network, Routes


def network(*links: Link, machines: int = 4) -> Network:
    return Network.of(
        Cluster(machines=tuple(Machine(name=f"m{at}") for at in range(machines)), links=links)
    )


def routes(net: Network, *pairs: tuple[str, str]) -> Routes:
    places = sorted((net.of_machine(a), net.of_machine(b)) for a, b in pairs)
    source, target = np.array(places, dtype=np.int32).T
    return net.routes(np.ascontiguousarray(source), np.ascontiguousarray(target))


def way(net: Network, source: str, target: str) -> list[tuple[str, str]]:
    names = list(net.place)
    links = routes(net, (source, target)).route_link
    return [(names[net.tail[link]], names[net.head[link]]) for link in links]


def link(a: str, b: str, latency_ns: int | None = None, rate: float | None = 1e9) -> Link:
    return Link(a=a, b=b, bytes_per_s=rate, latency_ns=latency_ns)


def test_the_way_of_least_latency_is_taken_though_it_is_longer() -> None:
    net = network(link("m0", "m1", 100), link("m0", "s", 10), link("s", "m1", 20))
    assert way(net, "m0", "m1") == [("m0", "s"), ("s", "m1")]
    assert way(net, "m1", "m0") == [("m1", "s"), ("s", "m0")]
    assert routes(net, ("m0", "m1")).latency_ns.tolist() == [30]


def test_among_equals_the_way_of_fewest_links_is_taken() -> None:
    net = network(
        link("m0", "a"), link("a", "b"), link("b", "m1"), link("m0", "c"), link("c", "m1")
    )
    assert way(net, "m0", "m1") == [("m0", "c"), ("c", "m1")]


def test_equal_spines_are_all_used_and_a_pair_keeps_its_way() -> None:
    spines = [link(leaf, f"spine{k}") for leaf in ("leaf0", "leaf1") for k in range(2)]
    net = network(*(link(f"m{at}", f"leaf{at // 2}") for at in range(4)), *spines)
    taken = {way(net, "m0", target)[1][1] for target in ("m2", "m3")}
    assert taken == {"spine0", "spine1"}
    assert way(net, "m0", "m2")[1] == way(net, "m1", "m2")[1]


def test_many_routes_are_found_as_one() -> None:
    net = network(*(link(f"m{at}", "s", at) for at in range(4)))
    found = routes(net, *((f"m{a}", f"m{b}") for a in range(4) for b in range(4)))
    hops = np.diff(found.route_from).reshape(4, 4)
    assert (hops == 2 - 2 * np.eye(4)).all()
    assert found.latency_ns.reshape(4, 4).tolist() == [
        [a + b if a != b else 0 for b in range(4)] for a in range(4)
    ]


def test_distances_are_worked_out_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(*(link(f"m{at}", "s", at) for at in range(4)))
    pairs = [(f"m{a}", f"m{b}") for a in range(4) for b in range(4)]
    whole = routes(net, *pairs)
    monkeypatch.setattr("paceline.simulate.network.ROWS", 10)  # two starts at a time
    for mine, yours in zip(routes(net, *pairs), whole, strict=True):
        assert mine.tolist() == yours.tolist()


def test_rates_by_direction_less_what_is_lost() -> None:
    net = network(
        Link(a="m0", b="m1", bytes_per_s=1e9, back_bytes_per_s=5e8, loss=0.1),
        Link(a="m1", b="m2", bytes_per_s=2e9),
    )
    assert net.bytes_per_ns == pytest.approx([0.9, 0.45, 2.0, 2.0])


def test_no_pairs_no_routes() -> None:
    found = Network.empty().routes(np.empty(0, np.int32), np.empty(0, np.int32))
    assert len(found.route_from) == 1


def test_no_way_is_said_by_name() -> None:
    net = network(link("m0", "m1"))
    with pytest.raises(ModelError, match="'m1' to 'm2'"):
        way(net, "m1", "m2")


def test_an_unsound_cluster_is_refused() -> None:
    with pytest.raises(ModelError, match="no two links join"):
        network(link("m0", "m1"), link("m1", "m0"))
