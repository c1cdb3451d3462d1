"""Eight real ranks of one job as one Profile: nothing lost, and the step replays to its length."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from made_traces import recorded, replayed

from paceline import read
from paceline.model import Graph, Profile, Trace
from paceline.stitch import profile


@pytest.fixture(scope="module")
def ranks(shared_data: Path) -> list[Trace]:
    folder = shared_data / "traces" / "dlrm8"
    return [read.trace(folder / f"rank_{rank}.json.gz") for rank in range(8)]


@pytest.fixture(scope="module")
def found(ranks: list[Trace]) -> Profile:
    return profile(ranks)


def test_all_workers_and_all_events(ranks: list[Trace], found: Profile) -> None:
    assert [worker.rank for worker in found.workers] == list(range(8))
    assert found.missing_workers == ()
    assert found.events == sum(map(len, ranks))
    assert [line.step for line in found.measured] == [10]
    assert {len(set(found.kinds)), len(found.graph.workers)} == {1, 8}


def test_every_collective_meets_on_eight_ranks(found: Profile) -> None:
    graph = found.graph
    members = graph.members()
    assert len(members) == 8
    for ops in members:
        assert sorted(graph.worker[ops].tolist()) == list(range(8))
        assert len({graph.works[work].name for work in graph.work[ops]}) == 1


def test_the_step_replays_to_its_length(found: Profile) -> None:
    (line,) = found.measured
    ends = replayed(found.graph, *recorded(found.graph, line))
    assert max(ends) == pytest.approx(line.step_ns, rel=0.01)


def test_every_kernel_with_a_recorded_launch_waits_for_it(
    ranks: list[Trace], found: Profile
) -> None:
    def device(noun: Trace | Graph) -> np.ndarray:
        return np.array([lane.startswith("stream") for lane in noun.lanes])[noun.lane]

    launched = sum(int((device(t) & (np.diff(t.after_from) > 0)).sum()) for t in ranks)
    waits = device(found.graph) & (np.diff(found.graph.after_from) > 0)
    assert launched <= waits.sum() <= sum(int(device(trace).sum()) for trace in ranks)


def test_all_ranks_have_the_same_lanes_and_mostly_the_same_works(found: Profile) -> None:
    graph = found.graph
    lanes = {int(rank): set(graph.lane[graph.worker == rank].tolist()) for rank in graph.workers}
    assert all(own == lanes[0] for own in lanes.values())
    assert "main" in graph.lanes
    works = [set(graph.work[graph.worker == rank].tolist()) for rank in graph.workers]
    assert len(set.intersection(*works)) > 0.9 * len(works[0])


def test_transfers_are_no_longer_than_the_shortest_kernel(found: Profile) -> None:
    (line,) = found.measured
    graph = found.graph
    for ops in graph.members():
        spread = found.durations.of(int(graph.work[ops[0]]), 0)
        assert spread is not None
        shortest = int((line.end_ns - line.start_ns)[ops].min())
        assert 0 <= spread.mean_ns <= shortest + 2_000  # whole microseconds on either side


def test_without_one_rank_the_others_are_profiled(ranks: list[Trace]) -> None:
    found = profile(ranks[:3] + ranks[4:])
    assert found.missing_workers == (3,)
    assert len(found.graph.members()) == 8


def test_a_rank_whose_clock_is_off_changes_nothing(ranks: list[Trace], found: Profile) -> None:
    moved = dataclasses.replace(ranks[5], start_ns=ranks[5].start_ns + 700_000_123)
    other = profile([*ranks[:5], moved, *ranks[6:]])
    assert other.measured[0].step_ns == pytest.approx(found.measured[0].step_ns, rel=0.005)
    assert other.durations.mean_ns == pytest.approx(found.durations.mean_ns, rel=0.01, abs=20_000)
