"""Means over steps say how sure they are."""

import numpy as np
import pytest

from paceline.diagnose.interval import mean


def test_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    draw = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        low, high = mean(draw.normal(5, 2, 8)).interval or (0, 0)
        inside += low <= 5 <= high
    assert inside / 2000 == pytest.approx(0.95, abs=0.015)


def test_one_step_has_no_interval_and_counts_only_if_large() -> None:
    one = mean(np.array([7.0]))
    assert one.interval is None
    assert one.sure(8, 1.0)
    assert not one.sure(8, 2.0)


def test_noise_around_zero_is_not_sure() -> None:
    draw = np.random.default_rng(1)
    wrong = sum(mean(draw.normal(0, 1, 10)).sure(8, 0.0) for _ in range(2000))
    assert wrong / 2000 < 0.01


def test_no_steps_are_no_cost() -> None:
    assert not mean(np.empty(0)).sure(1, 0.1)
