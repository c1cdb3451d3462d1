"""Links between machines, read as ports of one switch where that explains them."""

from paceline.model import Link
from paceline.stitch.ports import ports


def ring(*rates: float, latency_ns: int | None = None) -> list[Link]:
    """Links around machines m0, m1, ...; each rate is that of the way from mK to the next."""
    count = len(rates)
    return [
        Link(a=f"m{at}", b=f"m{(at + 1) % count}", bytes_per_s=rate, latency_ns=latency_ns)
        for at, rate in enumerate(rates)
    ]


def test_equal_links_are_equal_ports() -> None:
    found = ports(ring(100.0, 110.0, 95.0, 105.0, latency_ns=2000))
    assert found is not None
    assert {(link.a, link.b) for link in found} == {(f"m{at}", "switch") for at in range(4)}
    assert all(95 <= (link.bytes_per_s or 0) <= 110 for link in found)
    assert {link.latency_ns for link in found} == {1000}


def test_a_machine_that_is_slow_both_ways_has_a_slow_port() -> None:
    found = ports(ring(30.0, 30.0, 100.0, 100.0))  # m1 hears and speaks slowly
    assert found is not None
    assert {link.a: link.bytes_per_s for link in found} == {
        "m0": 100.0, "m1": 30.0, "m2": 100.0, "m3": 100.0,
    }  # fmt: skip


def test_one_slow_way_between_fast_machines_is_no_port() -> None:
    assert ports(ring(100.0, 10.0, 100.0, 100.0)) is None


def test_a_switch_gets_a_name_that_no_machine_has() -> None:
    links = [Link(a="switch", b="m1", bytes_per_s=9.0), Link(a="m1", b="m2", bytes_per_s=9.0),
             Link(a="m2", b="switch", bytes_per_s=9.0)]  # fmt: skip
    found = ports(links)
    assert found is not None
    assert {link.b for link in found} == {"switch-2"}


def test_too_little_is_known() -> None:
    assert ports([]) is None
    assert ports(ring(5.0, 5.0)) is None
    assert ports([Link(a="m0", b="m1"), Link(a="m1", b="m2", bytes_per_s=5.0)]) is None
