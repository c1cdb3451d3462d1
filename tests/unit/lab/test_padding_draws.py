"""Draws of padding: seeded, of the asked size, and the same whatever was asked before."""

import statistics
from itertools import pairwise

import pytest

from paceline.lab.padding_draws import Draws


def drawn(seed: int, rank: int, step: int, calls: range, backward: bool = False) -> list[float]:
    draws = Draws(seed, rank, 0.02, 0.01)
    draws.begin(step)
    return [draws.factor(backward, call) for call in calls]


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(1, 2, 30, range(100)) == drawn(1, 2, 30, range(100))


def test_order_and_earlier_steps_change_nothing() -> None:
    draws = Draws(1, 2, 0.02, 0.01)
    for step in range(31):
        draws.begin(step)
        draws.factor(False, 70)
    backwards = [draws.factor(False, call) for call in reversed(range(100))]
    assert backwards[::-1] == drawn(1, 2, 30, range(100))


@pytest.mark.parametrize("other", [(2, 2, 30), (1, 3, 30), (1, 2, 31)])
def test_another_seed_worker_or_step_draws_others(other: tuple[int, int, int]) -> None:
    assert set(drawn(*other, range(100))).isdisjoint(drawn(1, 2, 30, range(100)))


def test_backward_draws_others_than_forward() -> None:
    assert set(drawn(1, 2, 3, range(9), True)).isdisjoint(drawn(1, 2, 3, range(9)))


def test_calls_spread_around_one() -> None:
    draws = Draws(7, 0, 0.05, 0.0)
    draws.begin(0)
    found = [draws.factor(False, call) for call in range(5000)]
    assert statistics.mean(found) == pytest.approx(1, abs=0.003)
    assert statistics.stdev(found) == pytest.approx(0.05, rel=0.05)


def test_a_worker_drifts_slowly() -> None:
    draws = Draws(7, 0, 0.0, 0.01)
    walk = []
    for step in range(4000):
        draws.begin(step)
        walk.append(draws.drifted())
    assert statistics.mean(walk) == pytest.approx(1, abs=0.003)
    assert statistics.stdev(walk) == pytest.approx(0.01, rel=0.2)
    change = [b - a for a, b in pairwise(walk)]
    assert statistics.stdev(change) < 0.4 * 0.01


def test_nothing_spreads_without_spread() -> None:
    draws = Draws(7, 0, 0.0, 0.0)
    draws.begin(5)
    assert {draws.factor(back, call) for back in (True, False) for call in range(9)} == {1.0}


def test_any_seed_will_do() -> None:
    draws = Draws(-1, 0, 0.02, 0.01)
    draws.begin(0)
    assert 0.5 < draws.factor(False, 0) < 2
