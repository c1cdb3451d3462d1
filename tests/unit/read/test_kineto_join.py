"""Joins by key and by time, against the plain definition."""

import numpy as np
import pytest

from paceline.read.kineto_join import latest, matching


def column(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_matching_takes_the_last_of_equal_keys():
    assert matching(column(5, 7, 5), column(5, 7, 6, -1)).tolist() == [2, 1, -1, -1]


def test_negative_keys_match_nothing():
    assert matching(column(-1, 3), column(-1, 3)).tolist() == [-1, 1]


def test_nothing_to_match():
    assert matching(column(), column(1)).tolist() == [-1]
    assert matching(column(1), column()).tolist() == []
    assert latest(column(), column(), column(1), column(1)).tolist() == [-1]
    assert latest(column(1), column(1), column(), column()).tolist() == []


@pytest.mark.parametrize("groups", [3, 2**40, 2**62])
@pytest.mark.parametrize("times", [20, 2**40, 2**62])
def test_latest_of_the_same_group(groups: int, times: int):
    rng = np.random.default_rng(groups % 97 + times % 89)
    some = rng.integers(0, groups, 4)
    group, wanted_group = rng.choice(some, 60), rng.choice(some, 80)
    clock = np.sort(rng.integers(0, times, 12))
    time, wanted_time = rng.choice(clock, 60), rng.choice(clock, 80)
    found = latest(group, time, wanted_group, wanted_time).tolist()
    for own_group, own_time, at in zip(wanted_group, wanted_time, found, strict=True):
        before = [i for i in range(60) if group[i] == own_group and time[i] <= own_time]
        assert at == max(before, key=lambda i: (time[i], i), default=-1)
