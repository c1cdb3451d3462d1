"""How long ops take: typically, in one recorded step, in a drawn one."""

import dataclasses

import numpy as np
import pytest
from small_jobs import Small

from paceline import simulate
from paceline.model import (
    DECILES,
    UNKNOWN,
    ModelError,
    Profile,
    ProfiledWorker,
    Spreads,
    Timeline,
    Times,
)


def line(*spans: tuple[int, int]) -> Timeline:
    start, end = zip(*spans, strict=True)
    return Timeline(start_ns=np.array(start), end_ns=np.array(end), measured=True)


LOST = (UNKNOWN, UNKNOWN)


def own(small: Small, step: int = 0) -> tuple[list[int], list[int]]:
    times = simulate.times(small.profile, step=step)
    return times.duration_ns.tolist(), times.lead_ns.tolist()


def spreads(*rows: tuple[int, int, float, float]) -> Spreads:
    """Rows of (work, kind, lowest, highest), even between them."""
    deciles = [np.linspace(low, high, DECILES) for _, _, low, high in rows]
    return Spreads(
        work=np.array([row[0] for row in rows]),
        kind=np.array([row[1] for row in rows]),
        count=np.full(len(rows), 20),
        mean_ns=np.array([float(np.mean(row)) for row in deciles]),
        deciles_ns=np.concatenate([np.empty(0), *deciles]),
    )


def spread_out(small: Small, durations: Spreads, leads: Spreads) -> Profile:
    return dataclasses.replace(small.profile, durations=durations, leads=leads)


def test_waiting_is_not_work() -> None:
    small = Small(2)
    first = small.add(0, "gpu", "compute", 0)
    small.add(0, "host", "host", 0, first)  # a synchronization: starts early, ends when told
    small.add(0, "host", "host", 0)
    small.measured = [line((0, 100), (20, 105), (115, 120))]
    assert own(small) == ([100, 5, 5], [0, 0, 10])


def test_a_transfer_lies_between_the_last_arrival_and_the_first_end() -> None:
    small = Small(3)
    small.group("dp")
    for worker in range(3):
        small.add(worker, "comm", "collective", 0, match="c", group="dp")
    small.measured = [line((10, 101), (40, 100), (90, 102))]
    assert own(small) == ([10, 10, 10], [0, 30, 80])


def test_leaving_a_collective_later_than_others_is_lead_of_what_follows() -> None:
    small = Small(2)
    small.group("dp")
    for worker in range(2):
        meet = small.add(worker, "comm", "collective", 0, match="c", group="dp")
        small.add(worker, "main", "compute", 1, meet)
    small.measured = [line((0, 30), (31, 41), (10, 37), (40, 50))]
    assert own(small) == ([20, 10, 20, 10], [0, 1, 10, 10])
    played = simulate.timeline(small.graph, simulate.times(small.profile, step=0))
    assert played.step_ns == 50


def test_a_transfer_is_never_negative() -> None:
    small = Small(2)
    small.group("dp")
    for worker in range(2):
        small.add(worker, "comm", "collective", 0, match="c", group="dp")
    small.measured = [line((0, 50), (60, 70))]  # clocks that disagree
    assert own(small)[0] == [0, 0]


def test_a_receive_works_from_the_moment_of_the_send() -> None:
    small = Small(2)
    small.add(0, "out", "send", 0, match="a")
    small.add(1, "in", "recv", 0, match="a")
    small.measured = [line((100, 110), (0, 130)), line((0, 10), (100, 130)), line(LOST, (0, 30))]
    assert [own(small, step)[0] for step in range(3)] == [[10, 30], [10, 30], [10, 30]]


def test_a_send_that_waited_for_its_receiver_did_not_work_meanwhile() -> None:
    small = Small(2)
    small.add(0, "out", "send", 0, match="a")
    small.add(1, "in", "recv", 0, match="a")
    small.measured = [line((0, 110), (100, 130)), line((0, 90), (100, 130))]
    assert [own(small, step)[0][0] for step in range(2)] == [10, 90]


def test_leads_count_from_the_start_of_the_step() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 0)
    small.add(1, "gpu", "compute", 0)
    small.measured = [line((1000, 1010), (1005, 1020))]
    assert own(small) == ([10, 15], [0, 5])


def test_what_a_step_does_not_tell_the_other_steps_do() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 0)
    small.add(0, "gpu", "compute", 0)
    small.measured = [line((0, 10), (14, 20)), line(LOST, (40, 50)), line((0, 30), LOST)]
    assert own(small, 1) == ([20, 10], [0, 4])  # the lead is not known without the first op's end


def test_typical_is_the_mean_of_the_steps_op_by_op() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 0)
    small.add(1, "gpu", "compute", 0)
    small.measured = [line((0, 10), (0, 100)), line((0, 20), (0, 131))]
    assert simulate.times(small.profile) == Times(
        duration_ns=np.array([15, 116]), lead_ns=np.array([0, 0])
    )


def test_without_recorded_steps_the_spread_of_the_kind_of_machine_tells() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 0)
    small.add(1, "gpu", "compute", 0)
    profile = spread_out(small, spreads((0, 0, 100, 200), (0, 1, 300, 500)), spreads((0, 1, 7, 7)))
    workers = (
        ProfiledWorker(rank=0, machine="m0", kind=0),
        ProfiledWorker(rank=1, machine="m1", kind=1),
    )
    profile = dataclasses.replace(profile, workers=workers, kinds=("old", "new"))
    times = simulate.times(profile)
    assert times.duration_ns.tolist() == [150, 400]
    assert times.lead_ns.tolist() == [0, 7]


def test_communication_of_unknown_length_is_left_to_the_links() -> None:
    small = Small(2)
    small.add(0, "out", "send", 0, match="a", size=5)
    small.add(1, "in", "recv", 0, match="a", size=5)
    small.add(1, "comm", "collective", 0, match="c")
    profile = spread_out(small, spreads(), spreads())
    assert simulate.times(profile).duration_ns.tolist() == [-1, -1, -1]


def test_computation_of_unknown_length_is_refused() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 0, name="mystery")
    profile = spread_out(small, spreads(), spreads())
    with pytest.raises(ModelError, match='duration of "mystery" of worker 0'):
        simulate.times(profile)


def test_few_recorded_steps_are_drawn_from_the_spread() -> None:
    small = Small(8)
    for worker in range(8):
        small.add(worker, "gpu", "compute", 0)
    small.measured = [line(*[(0, 150)] * 8)]
    profile = spread_out(small, spreads((0, 0, 100, 200)), spreads((0, 0, 5, 5)))
    drawn = np.array([simulate.times(profile, seed=seed).duration_ns for seed in range(300)])
    assert drawn.min() >= 100
    assert drawn.max() <= 200
    assert drawn.mean() == pytest.approx(150, abs=3)
    assert drawn.std(axis=0).min() > 20  # every worker draws by itself
    assert np.abs(np.corrcoef(drawn.T) - np.eye(8)).max() < 0.25
    assert set(simulate.times(profile, seed=1).lead_ns.tolist()) == {5}


def test_many_recorded_steps_are_drawn_from_themselves() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 0)
    small.add(1, "gpu", "compute", 0)
    small.measured = [line((0, 10 + at), (0, 1000 + at)) for at in range(20)]
    profile = spread_out(small, spreads((0, 0, 1, 5000)), spreads())
    drawn = np.array([simulate.times(profile, seed=seed).duration_ns for seed in range(200)])
    assert set(drawn[:, 0].tolist()) == set(range(10, 30))
    assert set(drawn[:, 1].tolist()) == set(range(1000, 1020))  # a straggler stays one


def test_a_step_that_lacks_the_drawn_op_leaves_it_typical() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 0)
    small.add(0, "gpu", "compute", 0)
    small.measured = [line((0, 10), LOST), *[line((0, 10), (10, 40))] * 11]
    profile = spread_out(small, spreads((0, 0, 1, 5000), (1, 0, 1, 5000)), spreads())
    drawn = {tuple(simulate.times(profile, seed=seed).duration_ns) for seed in range(50)}
    assert drawn == {(10, 30)}


def test_a_collective_draws_once_for_all_its_members() -> None:
    small = Small(3)
    small.group("dp")
    for worker in range(3):
        small.add(worker, "comm", "collective", 0, match="c", group="dp")
    profile = spread_out(small, spreads((0, 0, 100, 200)), spreads())
    for seed in range(5):
        assert len(set(simulate.times(profile, seed=seed).duration_ns.tolist())) == 1


def test_seeds_differ() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 0)
    profile = spread_out(small, spreads((0, 0, 0, 1e9)), spreads())
    drawn = {int(simulate.times(profile, seed=seed).duration_ns[0]) for seed in range(-5, 20)}
    assert len(drawn) == 25


def test_draws_predict_the_mean_of_a_maximum_better_than_means_do() -> None:
    workers, steps = 16, 60
    noise = np.random.default_rng(0).exponential(1000, (steps, workers)).astype(int) + 5000
    small = Small(workers)
    small.group("dp")
    afters = {worker: small.add(worker, "gpu", "compute", 0) for worker in range(workers)}
    small.reduce("r", 0, 1, afters)
    small.measured = [
        line(*((0, int(ns)) for ns in row), *((int(ns), int(row.max())) for ns in row))
        for row in noise
    ]
    profile = small.profile
    mean = noise.max(axis=1).mean()
    typical = simulate.timeline(small.graph, simulate.times(profile)).step_ns
    drawn = np.mean([
        simulate.timeline(small.graph, simulate.times(profile, seed=seed)).step_ns
        for seed in range(100)
    ])  # fmt: skip
    assert abs(drawn - mean) < 0.05 * mean
    assert typical < 0.9 * mean  # why draws exist


@pytest.mark.parametrize("step", [-1, 1])
def test_a_step_that_was_not_recorded_is_refused(step: int) -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 0)
    small.measured = [line((0, 1))]
    with pytest.raises(ModelError, match="not among the 1 measured"):
        simulate.times(small.profile, step=step)


def test_a_step_of_another_graph_is_refused() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 0)
    small.measured = [line((0, 1), (1, 2))]
    with pytest.raises(ModelError, match="2 ops, the graph 1"):
        simulate.times(small.profile, step=0)


def test_an_empty_job_has_no_times() -> None:
    assert len(simulate.times(Small(1).profile)) == 0
    assert len(simulate.times(Small(1).profile, seed=3)) == 0
