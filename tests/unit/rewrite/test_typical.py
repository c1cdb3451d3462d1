"""typical: the median of the peers, in durations and leads, by hand."""

import numpy as np
import pytest
from small_jobs import Small, profile, replayed

from paceline import rewrite
from paceline.model import UNKNOWN, Edit, Timeline, Times
from paceline.rewrite.peers import Samples, own_and_lead, typical


def edited(small: Small, text: str) -> Times:
    out = rewrite.edited(small.graph, small.times, [Edit.parse(text)], profile=small.profile)
    return out.times


def team(*durations: int) -> Small:
    small = Small(len(durations))
    for worker, ns in enumerate(durations):
        small.add(worker, "gpu", "compute", ns, lead=ns // 10, layer="a")
        small.add(worker, "gpu", "copy", 7)
    return small


def test_a_slow_worker_takes_what_the_others_take():
    out = edited(team(100, 120, 500, 140), "typical{worker=2}")
    assert out.duration_ns.tolist() == [100, 7, 120, 7, 120, 7, 140, 7]
    assert out.lead_ns.tolist() == [10, 0, 12, 0, 12, 0, 14, 0]


def test_everybody_takes_what_the_others_take():
    out = edited(team(100, 120, 500, 140), "typical{}")
    assert out.duration_ns[::2].tolist() == [140, 140, 120, 120]


def test_of_an_even_number_of_peers_it_is_the_middle_of_the_middle_two():
    assert edited(team(100, 120, 500), "typical{worker=2}").duration_ns[4] == 110


def test_selectors_intersect():
    out = edited(team(100, 120, 500, 140), "typical{worker=2,kind=copy}")
    assert out.duration_ns.tolist() == team(100, 120, 500, 140).times.duration_ns.tolist()
    layer = edited(team(100, 120, 500, 140), "typical{worker=2,layer=a}")
    assert layer.duration_ns[4] == 120


def measured(*steps: tuple[int, ...]) -> Small:
    """Work without a predecessor, measured in several steps, a row of durations each."""
    small = team(*steps[0])
    for durations in steps:
        played = team(*durations)
        small.measured.append(replayed(played.graph, played.times))
    return small


def test_all_steps_of_the_others_count_and_none_of_its_own():
    small = measured((100, 120, 500), (200, 220, 900), (300, 320, 950))
    out = edited(small, "typical{worker=2}")
    assert out.duration_ns[4] == (200 + 220) / 2
    assert out.lead_ns[4] == (20 + 22) / 2


def test_who_has_no_peers_takes_the_median_of_its_own_steps():
    small = measured((100,), (200,), (700,))
    assert edited(small, "typical{}").duration_ns.tolist() == [200, 7]


def test_steps_that_miss_an_op_do_not_count_for_it():
    small = measured((100, 120, 500), (200, 220, 900))
    line = small.measured[1]
    start, end = line.start_ns.copy(), line.end_ns.copy()
    start[2] = end[2] = UNKNOWN  # the second worker's 220
    small.measured[1] = Timeline(start_ns=start, end_ns=end)
    assert edited(small, "typical{worker=2}").duration_ns[4] == 120


def test_work_that_was_never_measured_stays():
    small, other = team(100, 120, 500), Small(3)
    for worker in range(3):
        other.add(worker, "gpu", "compute", 1, name="else")
    other.measured.append(replayed(other.graph, other.times))
    out = rewrite.edited(
        small.graph, small.times, [Edit.parse("typical{}")],
        profile=profile(other.graph, other.machines, tuple(other.measured)),
    )  # fmt: skip
    assert out.times == small.times


def test_new_workers_take_the_median_of_all():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 100 + 50 * w) for w in (0, 1)}
    small.reduce("a", 20, 1000, first)
    small.reduce("b", 50, 4000, first)
    played = replayed(small.graph, small.times)
    small.measured.append(played)
    edits = [Edit.parse("workers{count=4}"), Edit.parse("typical{}")]
    out = rewrite.edited(small.graph, small.times, edits, profile=small.profile)
    compute = np.flatnonzero(out.graph.kind == 0)
    assert out.times.duration_ns[compute].tolist() == [150, 100, 125, 125]


def test_own_work_and_lead_are_read_off_a_step():
    """Waiting is in neither: not in a collective, a receive, or before a blocking call."""
    small = Small(2)
    small.group("dp")
    a = small.add(0, "gpu", "compute", 30, lead=5)
    b = small.add(1, "gpu", "compute", 80, lead=0)
    meet = small.reduce("c", 20, 8, {0: a, 1: b})
    small.add(0, "out", "send", 9, meet[0], lead=3, match="m")
    small.add(1, "in", "recv", 40, lead=2, match="m")
    small.add(1, "host", "host", 6, meet[1], lead=1)
    line = replayed(small.graph, small.times)
    own, lead = own_and_lead(small.graph, line)
    assert own.tolist() == small.times.duration_ns.tolist()
    assert lead.tolist() == small.times.lead_ns.tolist()
    start = line.start_ns.copy()
    start[6] = 0  # a blocking call that began long before what it waits for had ended
    own, lead = own_and_lead(small.graph, Timeline(start_ns=start, end_ns=line.end_ns))
    assert own[6] == 6 + 1
    assert lead[6] == 0


def test_medians_leave_out_the_worker_itself_whatever_the_order():
    draw = np.random.default_rng(3)
    work = draw.integers(0, 4, 300)
    worker = draw.integers(0, 6, 300)
    value = draw.integers(0, 50, 300)
    key = np.unique(work << 32 | worker)
    got = typical(Samples(work, worker, value), key)
    for one, median in zip(key.tolist(), got.tolist(), strict=True):
        others = value[(work == one >> 32) & (worker != one & 0xFFFFFFFF)]
        assert median == np.median(others)


def test_without_samples_nothing_is_known():
    none = np.empty(0, np.int64)
    assert np.isnan(typical(Samples(none, none, none), np.array([5 << 32]))).all()


@pytest.mark.parametrize("most", [1, 10, 10**9])
def test_many_steps_are_thinned(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("paceline.rewrite.peers._MOST", most)
    small = measured(*[(100, 120, 500)] * 5)
    assert edited(small, "typical{worker=2}").duration_ns[4] == 110
