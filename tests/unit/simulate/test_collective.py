"""Collectives as messages: what is sent, what waits for what, and what is refused."""

from collections import Counter

import numpy as np
import pytest
from small_jobs import Small, star

from paceline import simulate
from paceline.model import Cluster, Graph, Kind, Link, Machine, ModelError, verify

MB = 1_000_000
ALGORITHMS = ("ring", "tree", "hierarchical", "forest", "ps")


def job(workers: int, algorithm: str | None = None, size: int = MB, **more: object) -> Small:
    small = Small(workers)
    small.group("dp")
    afters = {w: small.add(w, "gpu", "compute", 100) for w in range(workers)}
    small.reduce("r", -1, size, afters, algorithm=algorithm, **more)
    for worker in range(workers):
        small.add(worker, "gpu", "compute", 10, workers + worker)
    return small


def star_of(workers: int, latency_ns: int = 0) -> Cluster:
    return star([f"m{at}" for at in range(workers)], 1e9, latency_ns)


def racks(racks: int, machines: int, slots: int = 1) -> Cluster:
    """Machines by rack, racks around a spine of a tenth of their rate."""
    names = [(f"m{rack}.{at}", f"leaf{rack}") for rack in range(racks) for at in range(machines)]
    return Cluster(
        machines=tuple(Machine(name=name, slots=slots) for name, _ in names),
        links=(
            *(Link(a=name, b=leaf, bytes_per_s=1e9) for name, leaf in names),
            *(Link(a=f"leaf{rack}", b="spine", bytes_per_s=1e8) for rack in range(racks)),
        ),
    )


def sent(graph: Graph) -> Counter[tuple[int, int]]:
    """Bytes by (source, target)."""
    to = {int(graph.match[op]): int(graph.worker[op]) for op in ops(graph, Kind.RECV)}
    out: Counter[tuple[int, int]] = Counter()
    for op in ops(graph, Kind.SEND):
        out[int(graph.worker[op]), to[int(graph.match[op])]] += int(graph.size_bytes[op])
    return out


def ops(graph: Graph, kind: Kind) -> list[int]:
    return [int(op) for op in np.flatnonzero((graph.kind == kind) & (graph.match >= 0))]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_what_comes_out_is_valid_and_leads_back(algorithm: str, workers: int) -> None:
    small = job(workers, algorithm)
    graph, times, origin = simulate.lowered(small.graph, small.times, star_of(workers))
    verify(graph)
    assert len(graph) == len(times) == len(origin)
    assert not (graph.kind[graph.match >= 0] == Kind.COLLECTIVE).any()
    assert (graph.worker == small.graph.worker[origin]).all()
    assert {small.graph.kind[op] for op in origin[graph.kind == Kind.SEND]} <= {Kind.COLLECTIVE}
    own = graph.kind == Kind.COMPUTE
    assert (times.duration_ns[own] == small.times.duration_ns[origin[own]]).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("workers", [2, 3, 4, 7])
def test_lowered_and_played_at_once_are_the_same(algorithm: str, workers: int) -> None:
    small, cluster = job(workers, algorithm), star_of(workers, 1000)
    graph, times, origin = simulate.lowered(small.graph, small.times, cluster)
    line = simulate.timeline(graph, times, cluster)
    whole = simulate.timeline(small.graph, small.times, cluster)
    assert whole.step_ns == line.step_ns
    for op in range(len(small.graph)):
        mine = (origin == op) & ~np.isin(graph.kind, [Kind.SEND, Kind.RECV])
        assert whole.start_ns[op] == line.start_ns[mine].min()
        assert whole.end_ns[op] == line.end_ns[mine].max()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_everybody_waits_for_the_last(algorithm: str) -> None:
    small, cluster = job(4, algorithm), star_of(4)
    punctual = simulate.timeline(small.graph, small.times, cluster)
    small.rows[2]["ns"] = 50 * MB
    late = simulate.timeline(small.graph, small.times, cluster)
    assert (late.end_ns[4:8] > 50 * MB).all()
    assert late.step_ns <= 50 * MB + punctual.step_ns


def test_a_ring_passes_on_to_the_next() -> None:
    small = job(3)
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(3))
    share = 4 * MB // 3
    assert sent(graph) == pytest.approx({(0, 1): share, (1, 2): share, (2, 0): share}, rel=1e-5)
    assert len(ops(graph, Kind.SEND)) == 12


def test_a_long_ring_takes_several_messages_as_one_and_keeps_their_latencies() -> None:
    small = job(40, size=40 * MB)
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(40))
    assert len(ops(graph, Kind.SEND)) == 40 * 32
    line = simulate.timeline(small.graph, small.times, star_of(40, 500))
    assert line.step_ns == pytest.approx(110 + 78 * (MB + 1000), rel=1e-6)


def test_a_ring_goes_through_one_machine_after_the_other() -> None:
    small = job(4)
    mixed = {0: "m0", 1: "m1", 2: "m0", 3: "m1"}
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(2), mixed)
    assert set(sent(graph)) == {(0, 2), (2, 1), (1, 3), (3, 0)}


def test_the_order_of_the_group_is_the_order_of_the_ring() -> None:
    small = Small(3)
    small.group("dp", 2, 0, 1)
    small.reduce("r", -1, MB, {w: small.add(w, "gpu", "compute", 1) for w in range(3)})
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(3))
    assert set(sent(graph)) == {(2, 0), (0, 1), (1, 2)}


def test_who_passes_on_in_one_tree_is_a_leaf_of_the_other() -> None:
    small = job(8, "tree")
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(8))
    out, into = Counter[int](), Counter[int]()
    for (source, target), size in sent(graph).items():
        out[source] += size
        into[target] += size
    assert max(out.values()) <= 2 * MB
    assert max(into.values()) <= 2 * MB
    assert sum(out.values()) == 14 * MB  # up and down over 7 links


def test_a_tree_joins_machines() -> None:
    small = job(4, "tree")
    two = {0: "m0", 1: "m0", 2: "m1", 3: "m1"}
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(2), two)
    assert sent(graph) == {(1, 0): MB, (3, 2): MB, (0, 1): MB, (2, 3): MB, (0, 2): MB, (2, 0): MB}


def test_neighborhoods_exchange_only_their_sums() -> None:
    for algorithm in ("hierarchical", "forest"):
        small = job(6, algorithm)
        graph, *_ = simulate.lowered(small.graph, small.times, racks(2, 3))
        far = sum(size for (a, b), size in sent(graph).items() if a // 3 == 0 and b // 3 == 1)
        assert far == pytest.approx(MB, rel=1e-5)
        ring = job(6, "ring")
        slow = simulate.timeline(ring.graph, ring.times, racks(2, 3)).step_ns
        assert simulate.timeline(small.graph, small.times, racks(2, 3)).step_ns < slow


def test_neighborhoods_may_be_uneven() -> None:
    for algorithm in ("hierarchical", "forest"):
        small = job(5, algorithm)
        where = dict(enumerate(["m0.0", "m0.1", "m0.2", "m1.0", "m1.1"]))
        graph, times, _ = simulate.lowered(small.graph, small.times, racks(2, 3), where)
        verify(graph)
        assert simulate.timeline(graph, times, racks(2, 3), machines=where).step_ns > 0


def test_workers_of_one_machine_are_a_neighborhood() -> None:
    small = job(6, "hierarchical")
    graph, *_ = simulate.lowered(small.graph, small.times, racks(1, 3, slots=2))
    far = {pair for pair in sent(graph) if pair[0] // 2 != pair[1] // 2}
    assert far == {(0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1)}


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("all_gather", {(0, 1): 2, (1, 2): 2, (2, 0): 2}),
        ("reduce_scatter", {(0, 1): 2, (1, 2): 2, (2, 0): 2}),
        ("all_to_all", {(a, b): 1 for a in range(3) for b in range(3) if a != b}),
        ("broadcast", {(0, 1): 3, (1, 2): 3}),
        ("reduce", {(2, 1): 3, (1, 0): 3}),
        ("gather", {(1, 0): 1, (2, 0): 1}),
        ("scatter", {(0, 1): 1, (0, 2): 1}),
        ("barrier", {(0, 1): 0, (1, 2): 0, (2, 0): 0}),
    ],
)
def test_other_operations(name: str, pairs: dict[tuple[int, int], int]) -> None:
    small = job(3, name=name)
    graph, times, _ = simulate.lowered(small.graph, small.times, star_of(3))
    verify(graph)
    assert dict(sent(graph)) == pytest.approx({p: n * MB / 3 for p, n in pairs.items()}, rel=1e-5)
    assert simulate.timeline(graph, times, star_of(3)).step_ns >= 110


def test_a_chain_streams() -> None:
    small = job(5, name="broadcast")
    line = simulate.timeline(small.graph, small.times, star_of(5, 500))
    assert line.step_ns == pytest.approx(110 + MB + 4 * 1000, abs=5)


def test_a_barrier_takes_latencies_only() -> None:
    small = job(3, name="barrier", size=-1)
    assert simulate.timeline(small.graph, small.times, star_of(3, 500)).step_ns == 110 + 4000


def test_known_collectives_stay_unless_every_one_is_asked_for() -> None:
    small = job(3)
    small.reduce("known", 500, MB, {w: 6 + w for w in range(3)})
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(3))
    assert len(ops(graph, Kind.COLLECTIVE)) == 3
    graph, *_ = simulate.lowered(small.graph, small.times, star_of(3), every=True)
    assert not ops(graph, Kind.COLLECTIVE)


def test_nothing_to_lower_changes_nothing() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 5)
    graph, times, origin = simulate.lowered(small.graph, small.times, star_of(2))
    assert (graph, times, origin.tolist()) == (small.graph, small.times, [0])


def test_collectives_of_one_lane_follow_one_another() -> None:
    small = Small(2)
    small.group("dp")
    for match in ("a", "b"):
        for worker in (0, 1):
            small.add(worker, "comm", "collective", -1, match=match, group="dp", size=MB)
    line = simulate.timeline(small.graph, small.times, star_of(2))
    assert line.end_ns.tolist() == [MB, MB, 2 * MB, 2 * MB]


def test_unknown_algorithms_sizes_and_crowds_are_refused() -> None:
    cluster = star_of(2)
    small = job(2, "telepathy")
    with pytest.raises(ModelError, match=r"'telepathy' of \"all_reduce\" of worker 0"):
        simulate.timeline(small.graph, small.times, cluster)
    small = job(2, size=-1)
    with pytest.raises(ModelError, match="size of"):
        simulate.timeline(small.graph, small.times, cluster)
    crowd = job(1200, "forest")
    with pytest.raises(ModelError, match="1200 members: that is 2880000 messages"):
        simulate.timeline(
            crowd.graph, crowd.times, Cluster(machines=(Machine(name="a", slots=1200),))
        )
