import pytest

from paceline.lab import shaping
from paceline.lab.layout import layout
from paceline.model import Cluster, Link, Machine

MBIT = 125_000


def test_a_rate_is_a_token_bucket_that_holds_at_least_two_packets() -> None:
    (line,) = shaping.sending("link0", 10 * MBIT, None, shaped=False)
    assert line == (
        "qdisc add dev link0 root handle 1: tbf rate 10000000bit burst 18028 limit 524288"
    )
    assert shaping.burst(1000 * MBIT) == 250_000
    assert shaping.queue(1000 * MBIT) == shaping.LONGEST_QUEUE


@pytest.mark.parametrize("rate", [1.0, MBIT, 10 * MBIT, 10**12])
def test_a_bucket_is_never_smaller_than_a_packet(rate: float) -> None:
    assert shaping.burst(rate) >= shaping.PACKET
    assert shaping.queue(rate) >= shaping.PACKET


def test_a_change_takes_away_what_was_before() -> None:
    assert shaping.sending("link3", None, None, shaped=True) == ["qdisc del dev link3 root"]
    assert shaping.sending("link3", None, None, shaped=False) == []
    assert len(shaping.sending("link3", MBIT, None, shaped=True)) == 2


def test_netem_stands_behind_the_bucket_or_alone_with_room_for_what_is_under_way() -> None:
    bucket, delay = shaping.sending("link0", 100 * MBIT, 5_000_000, shaped=False)
    assert " root handle 1: tbf " in bucket
    assert delay.startswith("qdisc add dev link0 parent 1:1 handle 10: netem delay 5000000ns limit")
    assert int(delay.split()[-1]) * 1000 > 100 * MBIT * 0.005 + shaping.queue(100 * MBIT)
    (alone,) = shaping.sending("link0", None, 5_000_000, shaped=False)
    assert " root handle 1: netem delay 5000000ns " in alone


def test_loss_and_cut_are_rules_of_one_chain_that_is_emptied_first() -> None:
    lossy = shaping.receiving("link0", 0.001, cut=False).splitlines()
    assert lossy[2] == "flush chain netdev paceline link0"
    assert lossy[3:] == ["add rule netdev paceline link0 numgen random mod 1000000 < 1000 drop"]
    assert shaping.receiving("link0", 0.001, cut=True).splitlines()[3:] == [
        "add rule netdev paceline link0 drop"
    ]
    assert len(shaping.receiving("link0", None, cut=False).splitlines()) == 3


def test_a_place_is_raised_with_one_address_and_a_way_to_every_other() -> None:
    machines = (Machine(name="m0"), Machine(name="m1"))
    links = (Link(a="m0", b="s"), Link(a="m1", b="s", loss=0.1))
    laid = layout(Cluster(machines=machines, links=links))
    switch = shaping.raised(laid, 2)
    assert [line for line in switch if line.startswith("address")] == [
        "address replace 10.211.0.3/32 dev link0"
    ]
    assert "route replace 10.211.0.2/32 via 10.211.0.2 dev link1 onlink src 10.211.0.3" in switch
    assert "link set link1 gso_max_segs 1" in switch
    first = shaping.raised(laid, 0)
    assert "route replace 10.211.0.2/32 via 10.211.0.3 dev link0 onlink src 10.211.0.1" in first
    assert not any("gso_max_segs" in line for line in first)


def test_both_ends_of_a_pair_are_made_where_they_belong() -> None:
    line = shaping.pair("link0", 7, "link0", 9)
    assert "name link0 netns /proc/self/fd/7 mtu 9000 type veth" in line
    assert line.endswith("peer name link0 netns /proc/self/fd/9 mtu 9000")
