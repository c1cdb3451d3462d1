"""speed: which times change, by how much, and which stay."""

import pytest
from small_jobs import Small, star

from paceline import rewrite
from paceline.model import Cluster, Edit, InputError, Link, Machine


def edited(small: Small, *texts: str, cluster: Cluster | None = None) -> rewrite.Rewritten:
    edits = [Edit.parse(text) for text in texts]
    return rewrite.edited(small.graph, small.times, edits, profile=small.profile, cluster=cluster)


def mixed() -> Small:
    """One op of every kind on each of two workers, each with a lead."""
    small = Small(2)
    small.group("dp")
    for worker in (0, 1):
        small.add(worker, "cpu", "load", 10, lead=2)
        host = small.add(worker, "cpu", "host", 20, lead=4)
        small.add(worker, "gpu", "compute", 30, host, lead=6, layer="net.0.conv")
        small.add(worker, "gpu", "copy", 40, lead=8, layer="net.0")
        small.add(worker, "p2p", "send" if worker == 0 else "recv", 50, lead=10, match="m", size=9)
    for worker in (0, 1):
        small.add(worker, "comm", "collective", 60, lead=12, name="all_reduce", match="c",
                  group="dp", size=100)  # fmt: skip
    return small


FIRST, SECOND, MEET = slice(0, 5), slice(5, 10), slice(10, 12)


def test_who_enters_the_step_late_does_so_at_any_speed():
    """The lead of an op that waits for nothing is where its worker stood when the step began."""
    small = Small(2)
    small.add(0, "gpu", "compute", 100, lead=6)
    small.add(1, "gpu", "compute", 100, lead=40)
    small.add(1, "gpu", "compute", 100, lead=8)
    for text in ("speed{worker=1,factor=2}", "speed{kind=host,factor=2}"):
        assert edited(small, text).times.lead_ns.tolist() == [6, 40, 4]


def test_a_faster_worker_does_its_own_work_faster_and_hesitates_less():
    out = edited(mixed(), "speed{worker=0,factor=2}").times
    assert out.duration_ns[FIRST].tolist() == [5, 10, 15, 20, 50]
    assert out.lead_ns[FIRST].tolist() == [2, 2, 3, 4, 10]
    assert out.duration_ns[SECOND].tolist() == [10, 20, 30, 40, 50]
    assert out.lead_ns[SECOND].tolist() == [2, 4, 6, 8, 10]
    assert out.duration_ns[MEET].tolist() == [60, 60]
    assert out.lead_ns[MEET].tolist() == [12, 12]  # nothing comes before it on its lane


def test_a_faster_kind_keeps_its_leads():
    out = edited(mixed(), "speed{kind=compute,factor=3}").times
    assert out.duration_ns.tolist() == [10, 20, 10, 40, 50] * 2 + [60, 60]
    assert out.lead_ns.tolist() == mixed().times.lead_ns.tolist()


def test_a_faster_host_hesitates_less_before_every_op():
    out = edited(mixed(), "speed{kind=host,factor=2}").times
    assert out.duration_ns.tolist() == [10, 10, 30, 40, 50] * 2 + [60, 60]
    assert out.lead_ns.tolist() == [2, 2, 3, 4, 10] * 2 + [12, 12]
    one = edited(mixed(), "speed{kind=host,worker=1,layer=net.0,factor=2}").times
    assert one.duration_ns.tolist() == mixed().times.duration_ns.tolist()
    assert one.lead_ns.tolist() == [2, 4, 6, 8, 10, 2, 4, 3, 4, 10, 12, 12]


def test_leads_are_host_work_even_without_a_host_op():
    small = Small(1)
    small.add(0, "gpu", "compute", 100)
    with pytest.raises(InputError, match="there is no host op and no lead"):
        edited(small, "speed{kind=host,factor=2}")
    small.add(0, "gpu", "compute", 100, lead=8)
    assert edited(small, "speed{kind=host,factor=2}").times.lead_ns.tolist() == [0, 4]


def test_a_faster_collective_is_faster_as_a_whole():
    out = edited(mixed(), "speed{kind=collective,factor=2}").times
    assert out.duration_ns[MEET].tolist() == [30, 30]


def test_a_layer_is_what_lies_inside_it():
    out = edited(mixed(), "speed{layer=net.0,factor=2}").times
    assert out.duration_ns.tolist() == [10, 20, 15, 20, 50] * 2 + [60, 60]
    assert out.lead_ns.tolist() == [2, 4, 3, 4, 10] * 2 + [12, 12]
    inner = edited(mixed(), "speed{layer=net.0.conv,factor=2}").times
    assert inner.duration_ns.tolist() == [10, 20, 15, 40, 50] * 2 + [60, 60]


def test_selectors_intersect():
    out = edited(mixed(), "speed{worker=1,kind=copy,layer=net,factor=0.5}").times
    assert out.duration_ns.tolist() == [10, 20, 30, 40, 50, 10, 20, 30, 80, 50, 60, 60]


def test_what_is_left_alone_keeps_every_digit():
    small = Small(1)
    small.add(0, "gpu", "compute", 2**60 + 1)
    small.add(0, "gpu", "copy", 10)
    out = edited(small, "speed{kind=copy,factor=3}").times
    assert out.duration_ns.tolist() == [2**60 + 1, 3]


def two_sizes(machines: tuple[str, ...] = ("m0", "m1")) -> Small:
    """All-reduces that take 100 ns and 1 ns a byte."""
    small = Small(len(machines), machines)
    small.group("dp")
    first = {worker: small.add(worker, "gpu", "compute", 60) for worker in small.ranks}
    for size in (100, 300):
        small.reduce(f"s{size}", 100 + size, size, first)
    return small


def collectives(out: rewrite.Rewritten) -> list[int]:
    return out.times.duration_ns[out.graph.kind == 4].tolist()


def test_links_change_only_what_grows_with_size():
    out = edited(two_sizes(), "speed{link=all,factor=2}")
    assert collectives(out) == [150, 150, 250, 250]
    assert out.notes == ()


def test_links_and_workers_intersect():
    out = edited(two_sizes(), "speed{link=all,worker=1,factor=0.5}")
    assert collectives(out) == [200, 300, 400, 700]


def test_two_faster_links_are_one_link_faster_still():
    once = edited(two_sizes(), "speed{link=all,factor=4}")
    twice = edited(two_sizes(), "speed{link=all,factor=2}", "speed{link=all,factor=2}")
    assert collectives(once) == collectives(twice) == [125, 125, 175, 175]


def test_a_group_within_the_two_ends_uses_the_link():
    for text in ("speed{link=m0-m1,factor=2}", "speed{link=0-1,factor=2}",
                 'speed{link="1-0",factor=2}'):  # fmt: skip
        assert collectives(edited(two_sizes(), text)) == [150, 150, 250, 250]


def test_without_a_cluster_nothing_tells_what_holds_a_larger_group_up():
    small = two_sizes(("m0", "m1", "m2"))
    with pytest.raises(InputError, match="which link holds up its collectives is not known") as got:
        edited(small, "speed{link=m0-m1,factor=2}")
    assert "Give a cluster file" in str(got.value)


def test_traces_that_name_no_groups_go_by_members():
    small = Small(4)
    for at, (size, members) in enumerate([(100, (0, 1)), (100, (2, 3)), (300, (0, 1))]):
        for worker in members:
            small.add(worker, "comm", "collective", 100 + size, size=size, match=f"c{at}")
    out = edited(small, "speed{link=m0-m1,factor=2}")
    assert collectives(out) == [150, 150, 200, 200, 250, 250]


def chain(*rates: float) -> Cluster:
    """Machines m0, m1, ... in a row, with links of these rates and no latency."""
    return Cluster(
        machines=tuple(Machine(name=f"m{at}") for at in range(len(rates) + 1)),
        links=tuple(
            Link(a=f"m{at}", b=f"m{at + 1}", bytes_per_s=rate) for at, rate in enumerate(rates)
        ),
    )


def test_a_collective_gains_what_the_slowest_link_of_its_ring_gains():
    small, cluster = two_sizes(("m0", "m1", "m2")), chain(1e9, 4e9)
    slowest = edited(small, "speed{link=m0-m1,factor=2}", cluster=cluster)
    assert collectives(slowest) == [150] * 3 + [250] * 3
    limited = edited(small, "speed{link=m0-m1,factor=16}", cluster=cluster)
    assert collectives(limited) == [125] * 3 + [175] * 3  # the other link holds it up then
    other = edited(small, "speed{link=m1-m2,factor=2}", cluster=cluster)
    assert collectives(other) == [200] * 3 + [400] * 3
    assert other.cluster == chain(1e9, 8e9)


def test_links_faster_in_turn_count_from_where_they_are():
    small, cluster = two_sizes(("m0", "m1", "m2")), chain(1e9, 4e9)
    out = edited(
        small, "speed{link=m0-m1,factor=16}", "speed{link=m1-m2,factor=4}", cluster=cluster
    )
    assert collectives(out) == [106] * 3 + [119] * 3
    assert out.cluster == chain(16e9, 16e9)


def test_a_link_between_machines_without_one_is_the_route():
    small, cluster = two_sizes(("m0", "m1")), star(("m0", "m1"))
    out = edited(small, "speed{link=m0-m1,factor=2}", cluster=cluster)
    assert collectives(out) == [150, 150, 250, 250]
    assert out.cluster is not None
    assert [link.bytes_per_s for link in out.cluster.links] == [2e9, 2e9]
    down = edited(small, "speed{link=switch-m1,factor=0.5}", cluster=cluster)
    assert collectives(down) == [300, 300, 700, 700]


def messages(*sizes: int) -> Small:
    """Messages from 0 to 1 that take 100 ns and 1 ns a byte, and one from 0 to 2."""
    small = Small(3)
    for at, size in enumerate((*sizes, 500)):
        to = 1 if at < len(sizes) else 2
        small.add(0, "out", "send", 100 + size, match=f"m{at}", size=size)
        small.add(to, "in", "recv", 100 + size, match=f"m{at}", size=size)
    return small


def test_messages_between_two_workers_use_their_link():
    out = edited(messages(100, 300), "speed{link=0-1,factor=2}")
    assert out.times.duration_ns.tolist() == [150, 150, 250, 250, 600, 600]
    assert out.notes == ()


def test_messages_of_one_size_have_no_known_latency():
    out = edited(messages(100), "speed{link=m1-m0,factor=2}")
    assert out.times.duration_ns.tolist() == [100, 100, 600, 600]
    assert [(note.code, note.count) for note in out.notes] == [("no-latency", 2)]


def test_the_cluster_knows_the_latency_of_messages_of_one_size():
    out = edited(
        messages(100), "speed{link=m1-m0,factor=2}", cluster=star(("m0", "m1", "m2"), 1e9, 30)
    )
    assert out.times.duration_ns.tolist() == [130, 130, 600, 600]
    late = edited(
        messages(100), "speed{link=all,factor=2}", cluster=star(("m0", "m1", "m2"), 1e9, 900)
    )
    assert late.times.duration_ns.tolist() == [200, 200, 600, 600]  # nothing but latency
    assert [(note.code, note.count) for note in late.notes] == [("all-latency", 4)]


def test_a_link_that_nothing_uses_names_nothing():
    with pytest.raises(InputError, match="no transfer uses this link"):
        edited(messages(100), "speed{link=1-2,factor=2}")
    alone = Small(2)
    alone.add(0, "gpu", "compute", 5)
    alone.add(1, "gpu", "compute", 5)
    with pytest.raises(InputError, match="no transfer uses this link"):
        edited(alone, "speed{link=all,factor=2}")
    with pytest.raises(InputError, match="no link of the cluster lies between"):
        edited(messages(100), "speed{link=m0-m2,factor=2}", cluster=star(("m0", "m1")))


def test_a_name_that_can_be_cut_in_two_ways_is_refused():
    small = two_sizes(("a", "b-c", "a-b", "c"))
    with pytest.raises(InputError, match="can be read in 2 ways"):
        edited(small, "speed{link=a-b-c,factor=2}")


def test_times_that_follow_from_links_change_with_the_cluster_only():
    small, cluster = two_sizes(), star(("m0", "m1"))
    tree = "collective{algorithm=tree}"
    out = edited(small, tree, "speed{link=all,factor=2}", cluster=cluster)
    assert collectives(out) == [-1] * 4
    assert out.cluster is not None
    assert out.cluster.links[0].bytes_per_s == 2e9
    for text in ("speed{kind=collective,factor=2}", "speed{link=all,worker=0,factor=2}"):
        with pytest.raises(InputError, match="follows from links only"):
            edited(small, tree, text, cluster=cluster)


def test_a_link_that_would_be_endless_is_refused():
    with pytest.raises(InputError, match="endlessly fast or slow"):
        edited(two_sizes(), "speed{link=all,factor=1e308}", cluster=star(("m0", "m1")))


def test_links_of_unknown_rate_gain_if_they_are_the_whole_way():
    unknown = Cluster(
        machines=(Machine(name="m0"), Machine(name="m1")),
        links=(Link(a="m0", b="m1"),),
    )
    out = edited(two_sizes(), "speed{link=m0-m1,factor=2}", cluster=unknown)
    assert collectives(out) == [150, 150, 250, 250]
    assert out.cluster == unknown
