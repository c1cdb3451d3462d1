"""Medians of an op over steps, and of the others that do the same work."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paceline.diagnose.peers import columnwise_median, median_of_others, usual


@given(st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 4)), min_size=1, max_size=40))
def test_median_of_others_is_what_it_says(rows: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in rows])
    group = np.array([where for _, where in rows], dtype=np.int32)
    found = median_of_others(values, group)
    for at in range(len(rows)):
        others = np.delete(values, at)[np.delete(group, at) == group[at]]
        expected = np.median(others) if len(others) else values[at]
        assert np.isclose(found[at], expected)


def test_unknown_entries_are_left_out() -> None:
    table = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])
    assert columnwise_median(table).tolist() == [2.0, 0.0]


def test_of_two_workers_the_slow_one_is_slow_by_the_whole_difference() -> None:
    found = usual(np.array([[10.0, 30.0]] * 3), np.array([0, 0], dtype=np.int32), np.zeros(2, bool))
    assert found.shift.tolist() == [-20.0, 20.0]


def test_work_that_peers_do_not_have_takes_them_no_time() -> None:
    extra = np.array([False, True])
    found = usual(np.array([[10.0, 30.0]] * 3), np.array([0, 1], dtype=np.int32), extra)
    assert found.shift.tolist() == [0.0, 30.0]
