"""Messages whose transfer follows from size and links, and ops that share cores."""

from itertools import pairwise

import pytest
from small_jobs import Small, star

from paceline import simulate
from paceline.model import Cluster, Link, Machine, MachineKind, ModelError

MB = 1_000_000  # over 1 GB/s: 1 ms


def message(small: Small, source: int, target: int, size: int, *after: int, name: str = "") -> int:
    name = name or f"{source} to {target}, {len(small.rows)}"
    small.add(source, f"out {name}", "send", -1, *after, match=name, size=size)
    return small.add(target, f"in {name}", "recv", -1, match=name, size=size)


def ends(small: Small, cluster: Cluster, **options: object) -> list[int]:
    line = simulate.timeline(small.graph, small.times, cluster, **options)  # type: ignore[arg-type]
    return line.end_ns.tolist()


def line_of(*machines: str, latency_ns: int = 0, bytes_per_s: float = 1e9) -> Cluster:
    """Machines in a row, each linked with the next."""
    return Cluster(
        machines=tuple(Machine(name=name) for name in machines),
        links=tuple(
            Link(a=a, b=b, bytes_per_s=bytes_per_s, latency_ns=latency_ns)
            for a, b in pairwise(machines)
        ),
    )


def test_a_message_takes_its_size_over_the_rate_and_then_the_latency() -> None:
    small = Small(2)
    message(small, 0, 1, MB)
    assert ends(small, star(["m0", "m1"], 1e9, 1000)) == [MB, MB + 2000]


def test_two_messages_halve_a_link_and_the_longer_one_then_has_it_alone() -> None:
    small = Small(3)
    message(small, 0, 1, MB)
    message(small, 0, 2, 3 * MB)
    assert ends(small, star(["m0", "m1", "m2"], 1e9, 0)) == [2 * MB, 2 * MB, 4 * MB, 4 * MB]


def test_a_message_that_comes_later_slows_the_first_from_then_on() -> None:
    small = Small(3)
    message(small, 0, 1, 2 * MB)
    wait = small.add(0, "gpu", "compute", MB)
    message(small, 0, 2, MB, wait)
    assert ends(small, star(["m0", "m1", "m2"], 1e9, 0)) == [3 * MB] * 2 + [MB] + [3 * MB] * 2


def test_links_carry_both_directions_at_once() -> None:
    small = Small(2)
    message(small, 0, 1, MB)
    message(small, 1, 0, MB)
    assert ends(small, star(["m0", "m1"], 1e9, 0)) == [MB] * 4


def test_what_one_flow_cannot_use_the_others_get() -> None:
    small = Small(3)
    message(small, 0, 1, MB)
    message(small, 0, 2, MB)
    slow = Cluster(
        machines=tuple(Machine(name=f"m{at}") for at in range(3)),
        links=tuple(
            Link(a=f"m{at}", b="switch", bytes_per_s=rate)
            for at, rate in enumerate((1e9, 0.9e9, 0.1e9))
        ),
    )
    assert ends(small, slow)[1::2] == [round(MB / 0.9), 10 * MB]


def test_the_slower_direction_of_a_link_counts_for_its_direction() -> None:
    small = Small(2)
    message(small, 0, 1, MB)
    message(small, 1, 0, MB)
    uneven = Cluster(
        machines=(Machine(name="m0"), Machine(name="m1")),
        links=(Link(a="m0", b="m1", bytes_per_s=1e9, back_bytes_per_s=0.5e9),),
    )
    assert ends(small, uneven)[1::2] == [MB, 2 * MB]


def test_a_receive_that_comes_late_finds_its_message() -> None:
    small = Small(2)
    late = small.add(1, "gpu", "compute", 5 * MB)
    small.add(0, "out", "send", -1, match="a", size=MB)
    small.add(1, "in", "recv", -1, late, match="a", size=MB)
    assert ends(small, star(["m0", "m1"], 1e9, 0)) == [5 * MB, MB, 5 * MB]


def test_a_posted_send_ends_after_its_own_time() -> None:
    small = Small(2)
    small.add(0, "out", "send", 10, match="a", size=MB)
    small.add(0, "out", "send", 10, match="b", size=MB)
    small.add(1, "in a", "recv", -1, match="a", size=MB)
    small.add(1, "in b", "recv", -1, match="b", size=MB)
    assert ends(small, star(["m0", "m1"], 1e9, 0)) == [10, 20, 2 * MB - 10, 2 * MB]


def test_messages_of_unknown_length_that_cross_do_not_block_each_other() -> None:
    small = Small(2)
    for worker in (0, 1):
        small.add(worker, "p2p", "send", -1, match=f"from {worker}", size=MB)
        small.add(worker, "p2p", "recv", -1, match=f"from {1 - worker}", size=MB)
    assert ends(small, star(["m0", "m1"], 1e9, 0)) == [MB] * 4


def test_a_size_may_be_told_by_either_end_and_may_be_nothing() -> None:
    small = Small(2)
    small.add(0, "out", "send", -1, match="a", size=MB)
    small.add(1, "in", "recv", -1, match="a")
    message(small, 1, 0, 0)
    assert ends(small, star(["m0", "m1"], 1e9, 500)) == [MB, MB + 1000, 0, 1000]


def test_within_a_machine_messages_cost_nothing() -> None:
    small = Small(2)
    message(small, 0, 1, MB)
    both = Cluster(machines=(Machine(name="m0", slots=2),))
    assert ends(small, both) == [0, 0]


def test_workers_fill_slots_in_file_order_unless_told() -> None:
    small = Small(3)
    message(small, 0, 1, MB)
    message(small, 1, 2, MB)
    cluster = Cluster(
        machines=(Machine(name="a", slots=2), Machine(name="b")),
        links=(Link(a="a", b="b", bytes_per_s=1e9),),
    )
    assert ends(small, cluster)[1::2] == [0, MB]
    assert ends(small, cluster, machines={0: "a", 1: "b", 2: "b"})[1::2] == [MB, 0]


def test_a_route_shares_every_link_of_its_way() -> None:
    small = Small(3)
    message(small, 0, 2, MB)
    message(small, 1, 2, MB)
    assert ends(small, line_of("m0", "m1", "m2", latency_ns=100))[1::2] == [
        2 * MB + 200,
        2 * MB + 100,
    ]


def test_a_crowd_gets_the_link_to_the_last_byte() -> None:
    senders = 200  # more routes than are solved exactly at every change
    small = Small(senders + 1)
    for sender in range(1, senders + 1):
        message(small, sender, 0, 1000 * sender)
    names = [f"m{at}" for at in range(senders + 1)]
    found = ends(small, star(names, 1e9, 0))[1::2]
    served, expected = 0.0, []
    for at in range(senders):  # the smallest of those left ends next
        served += 1000 * (senders - at)
        expected.append(served)
    assert found == pytest.approx(expected, rel=0.01)
    assert found[-1] == pytest.approx(expected[-1], rel=1e-4)


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        (Cluster(), "the cluster 0 slots"),
        (Cluster(machines=(Machine(name="a"), Machine(name="b"))), "No route leads from 'a' to"),
        (line_of("a", "b", bytes_per_s=None), "The rate of the link a-b"),  # type: ignore[arg-type]
    ],
)
def test_a_cluster_that_cannot_carry_a_message_is_refused(cluster: Cluster, says: str) -> None:
    small = Small(2)
    message(small, 0, 1, MB)
    with pytest.raises(ModelError, match=says):
        simulate.timeline(small.graph, small.times, cluster)


def test_the_direction_of_unknown_rate_is_named() -> None:
    small = Small(2)
    message(small, 1, 0, MB)
    cluster = Cluster(machines=(Machine(name="a"), Machine(name="b")), links=(Link(a="a", b="b"),))
    with pytest.raises(ModelError, match="link b-a is not known"):
        simulate.timeline(small.graph, small.times, cluster)


def test_a_worker_on_no_machine_or_a_strange_one_is_refused() -> None:
    small = Small(2)
    message(small, 0, 1, MB)
    cluster = star(["m0", "m1"])
    with pytest.raises(ModelError, match="on which machine worker 1 is"):
        simulate.timeline(small.graph, small.times, cluster, machines={0: "m0"})
    with pytest.raises(ModelError, match="'mars' is not in the cluster"):
        simulate.timeline(small.graph, small.times, cluster, machines={0: "m0", 1: "mars"})


def test_a_message_of_unknown_size_or_without_cluster_is_refused() -> None:
    small = Small(2)
    small.add(0, "out", "send", -1, match="a")
    small.add(1, "in", "recv", -1, match="a", name="activations")
    with pytest.raises(ModelError, match='size of "activations" of worker 1'):
        simulate.timeline(small.graph, small.times, star(["m0", "m1"]))
    with pytest.raises(ModelError, match='duration of "activations" of worker 1'):
        simulate.timeline(small.graph, small.times)


def test_a_message_of_a_century_is_refused() -> None:
    small = Small(2)
    message(small, 0, 1, 2**62)
    with pytest.raises(ModelError, match="would take up to"):
        simulate.timeline(small.graph, small.times, star(["m0", "m1"], 1.0))


def test_more_ops_than_cores_slow_each_other_equally() -> None:
    small = Small(3)
    small.add(0, "host", "host", 100)
    small.add(1, "host", "compute", 100)
    small.add(2, "host", "host", 300)
    cluster = Cluster(machines=(Machine(name="a", slots=3),))
    assert ends(small, cluster, cores={"a": 3}) == [100, 100, 300]
    assert ends(small, cluster, cores={"a": 2}) == [150, 150, 350]
    assert ends(small, cluster, cores={"a": 1}) == [300, 300, 500]
    assert ends(small, cluster, cores={"elsewhere": 1}) == [100, 100, 300]


def test_the_cluster_counts_cores() -> None:
    small = Small(3)
    for worker in range(3):
        small.add(worker, "host", "compute", 100)
    two = Machine(name="a", slots=3, cores=2)
    assert ends(small, Cluster(machines=(two,))) == [150] * 3
    assert ends(small, Cluster(machines=(two,)), cores={}) == [100] * 3


def test_computation_on_a_device_needs_no_core() -> None:
    small = Small(2)
    for worker in range(2):
        small.add(worker, "gpu", "compute", 100)
        small.add(worker, "host", "host", 100)
    cluster = Cluster(
        kinds=(MachineKind(name="v100", device="cuda"),),
        machines=(Machine(name="a", kind="v100", slots=2, cores=1),),
    )
    assert ends(small, cluster) == [100, 200] * 2


def test_cores_are_not_needed_to_wait_copy_or_talk() -> None:
    small = Small(2)
    small.add(0, "host", "host", 100)
    small.add(0, "dma", "copy", 100)
    small.add(1, "comm", "collective", 100)
    assert ends(small, Cluster(), machines={0: "a", 1: "a"}, cores={"a": 1}) == [100] * 3


def test_a_machine_without_cores_is_refused() -> None:
    small = Small(1)
    small.add(0, "host", "host", 100)
    with pytest.raises(ModelError, match="fewer than one core"):
        simulate.timeline(small.graph, small.times, cores={"a": 0}, machines={0: "a"})
