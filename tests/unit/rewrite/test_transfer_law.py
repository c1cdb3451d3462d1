"""The law of transfers: from the times at hand, from the profile, from the cluster."""

import numpy as np
import pytest
from small_jobs import Small, profile, star

from paceline.model import OPERATIONS, Cluster, Group, Link, Machine
from paceline.rewrite.state import State, begun
from paceline.rewrite.transfer_law import fitted, lawful, predicted
from paceline.rewrite.transfers import transfers


def state(small: Small, cluster: Cluster | None = None) -> State:
    return begun(small.graph, small.times, small.profile, cluster)


def reduced(*pairs: tuple[int, int], name: str = "all_reduce", workers: int = 2) -> Small:
    """All-reduces of (size, time)."""
    small = Small(workers)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in range(workers)}
    for at, (size, time) in enumerate(pairs):
        small.reduce(f"c{at}", time, size, first, name=name)
    return small


def law(small: Small, cluster: Cluster | None = None, operation: str = "all_reduce"):
    laws = lawful(state(small, cluster))
    row = OPERATIONS.index(operation)
    return float(laws.latency_ns[row]), float(laws.ns_per_byte[row])


def test_two_sizes_tell_latency_and_rate():
    assert law(reduced((1000, 300), (5000, 1100))) == pytest.approx((100, 0.2))


def test_the_median_of_equal_sizes_counts():
    pairs = [(1000, 300), (1000, 310), (1000, 9000), (5000, 1100)]
    assert law(reduced(*pairs)) == pytest.approx((112.5, 0.1975))


def test_small_sizes_count_as_much_as_large_ones():
    """One in ten off at the largest must not bend what is known of the smallest."""
    latency, rate = law(reduced((100, 120), (1000, 300), (10**6, 220_100)))
    assert latency + 100 * rate == pytest.approx(120, rel=0.05)


def test_a_latency_is_never_negative():
    latency, rate = law(reduced((1000, 100), (5000, 900)))
    assert latency == 0
    assert 0.1 < rate < 0.18


@pytest.mark.parametrize(
    "pairs",
    [
        [(1000, 300)],
        [(1000, 300), (1500, 500)],  # sizes too near to each other
        [(-1, 300), (-1, 500)],
        [(0, 300), (0, 500)],
        [(1000, 0), (5000, 0)],
        [(1000, -1), (5000, -1)],
    ],
)
def test_what_cannot_be_told_is_not_told(pairs):
    assert np.isnan(law(reduced(*pairs))).all()


@pytest.mark.parametrize("later", [300, 200])
def test_what_takes_no_longer_for_more_bytes_is_all_latency(later: int):
    latency, rate = law(reduced((1000, 300), (5000, later)))
    assert later <= latency <= 300
    assert rate == 0


def test_operations_have_laws_of_their_own():
    small = reduced((1000, 300), (5000, 1100), name="all_gather")
    assert np.isnan(law(small)).all()
    assert law(small, operation="all_gather") == pytest.approx((100, 0.2))


def test_the_cluster_tells_what_sizes_do_not():
    """A ring of four: 6 messages of 2 x 50 ns, 1.5 bytes a byte at 2 GB/s."""
    cluster = star([f"m{at}" for at in range(4)], bytes_per_s=2e9, latency_ns=50)
    assert law(reduced((1000, 300), workers=4), cluster) == pytest.approx((600, 0.75))


def test_sizes_come_before_the_cluster():
    cluster = star(("m0", "m1"), bytes_per_s=2e9)
    assert law(reduced((1000, 300), (5000, 1100)), cluster) == pytest.approx((100, 0.2))


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(),
        star(("m0", "m7")),
        Cluster(machines=(Machine(name="m0"), Machine(name="m1")), links=(Link(a="m0", b="m1"),)),
    ],
)
def test_a_cluster_that_does_not_tell_is_no_law(cluster: Cluster):
    assert np.isnan(law(reduced((1000, 300)), cluster)).all()


def test_members_know_size_and_time_together_or_not_at_all():
    small = Small(2)
    small.group("dp")
    for worker, (size, time) in enumerate([(100, 40), (-1, 60)]):
        small.add(worker, "comm", "collective", time, match="c", group="dp", size=size)
    small.add(0, "comm", "collective", 5, match="d")
    small.add(1, "comm", "collective", 9, match="d")
    found = transfers(state(small))
    assert found.size_bytes.tolist() == [-1, -1]
    assert found.duration_ns.tolist() == [60, 9]
    assert found.counts.tolist() == [2, 2]
    assert found.members_of(1).tolist() == [2, 3]
    assert found.row.tolist() == [0, len(OPERATIONS)]  # without a group: behind the last


def test_predictions_need_law_and_size():
    laws = lawful(state(reduced((1000, 300), (5000, 1100))))
    rows = np.array([0, 0, 1])
    got = predicted(laws, rows, np.array([2000, -1, 2000]))
    assert got[0] == pytest.approx(500)
    assert np.isnan(got[1:]).all()


def test_nothing_to_fit_is_nothing_known():
    none = np.empty(0, np.int64)
    assert np.isnan(fitted(none, none, none, 3)).all()


def test_the_profile_knows_more_steps_than_the_times_at_hand():
    one_step, typical = reduced((1000, 900), (5000, 910)), reduced((1000, 300), (5000, 1100))
    laws = lawful(begun(one_step.graph, one_step.times, typical.profile, None))
    assert laws.latency_ns[0] == pytest.approx(100)


def test_what_the_profile_does_not_know_the_times_at_hand_do():
    small = reduced((1000, 300), (5000, 1100))
    bare = profile(small.graph, small.machines)
    laws = lawful(begun(small.graph, small.times, bare, None))
    assert laws.ns_per_byte[0] == pytest.approx(0.2)


def test_the_profile_remembers_sizes_that_the_graph_lost():
    before, now = reduced((1000, 300), (5000, 1100)), reduced((6000, 1300))
    lost = begun(now.graph, now.times, before.profile, None)
    laws = lawful(lost)
    assert laws.latency_ns[0] == pytest.approx(100)
    assert laws.ns_per_byte[0] == pytest.approx(0.2)
    other = reduced((1000, 300), (5000, 1100))
    other.groups = {"else": Group(name="else", members=(0, 1))}
    assert np.isnan(lawful(begun(now.graph, now.times, other.profile, None)).latency_ns).all()
