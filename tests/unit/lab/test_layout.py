import pytest

from paceline.lab.layout import MOST_MACHINES, host_name, layout
from paceline.model import Cluster, InputError, Link, Machine, ModelError, Offer, PacelineError


def cluster(machines: int, *links: Link) -> Cluster:
    return Cluster(machines=tuple(Machine(name=f"m{n}") for n in range(machines)), links=links)


def test_without_links_all_hang_on_one_switch_without_limits() -> None:
    laid = layout(cluster(3))
    assert laid.names == ("m0", "m1", "m2", "switch")
    assert [(wire.a, wire.b) for wire in laid.wires] == [(0, 3), (1, 3), (2, 3)]
    assert {wire.bytes_per_s for wire in laid.wires} == {(None, None)}


def test_the_lone_switch_takes_no_name_of_a_machine() -> None:
    machines = (Machine(name="switch"), Machine(name="m"))
    assert layout(Cluster(machines=machines)).names[-1] == "switch-"


def test_each_place_has_one_address_and_the_interface_of_its_first_link() -> None:
    laid = layout(cluster(2, Link(a="m0", b="s"), Link(a="s", b="m1"), Link(a="m1", b="m0")))
    assert len({laid.address(at) for at in range(3)}) == 3
    assert [laid.device(at) for at in range(3)] == ["link0", "link1", "link0"]
    hosts = laid.hosts().splitlines()
    assert f"{laid.address(1)} m1" in hosts
    assert f"::ffff:{laid.address(1)} m1" in hosts


def test_a_wire_is_found_from_either_end() -> None:
    laid = layout(cluster(2, Link(a="m0", b="s", bytes_per_s=5.0), Link(a="m1", b="s")))
    wire, turned = laid.wire("s", "m0")
    assert turned
    assert wire.bytes_per_s == (5.0, 5.0)
    assert laid.wire("m0", "s") == (wire, False)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (cluster(0), "no machines"),
        (Cluster(offers=(Offer(name="o", kind="k", usd_per_hour=1.0),)), "no machines"),
        (cluster(MOST_MACHINES + 1), f"{MOST_MACHINES + 1} machines"),
        (cluster(2, Link(a="m0", b="s")), "No links lead from machine m0 to machine m1"),
        (cluster(2, Link(a="m0", b="s"), Link(a="m1", b="S")), "machine m0 to machine m1"),
        (cluster(2, Link(a="m0", b="m1", bytes_per_s=0.0)), "rates are positive"),
        (cluster(2, Link(a="m0", b="m1"), Link(a="m1", b="m0")), "no two links join"),
        (cluster(2, Link(a="m0", b="m1", loss=1.0)), "loss lies in"),
    ],
)
def test_an_impossible_cluster_is_refused(wrong: Cluster, says: str) -> None:
    with pytest.raises(PacelineError, match=says):
        layout(wrong)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    laid = layout(cluster(2, Link(a="m0", b="s"), Link(a="m1", b="s")))
    with pytest.raises(InputError, match=r"'m7' is no machine.*\nThere are: m0, m1, s"):
        laid.place("m7")
    with pytest.raises(InputError, match="No link joins m0 and m1"):
        laid.wire("m0", "m1")


def test_a_zero_rate_is_a_fact_that_contradicts() -> None:
    with pytest.raises(ModelError):
        layout(cluster(2, Link(a="m0", b="m1", bytes_per_s=0.0)))


def test_odd_names_become_numbers_as_host_names() -> None:
    assert host_name("gpu-a.rack1", 3) == "gpu-a.rack1"
    assert host_name("größe 7", 3) == "machine-3"
    assert host_name("-x", 4) == "machine-4"
    assert host_name("a" * 64, 5) == "machine-5"
