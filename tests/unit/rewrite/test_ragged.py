"""Ragged columns: picked, made of pairs, led back."""

from itertools import chain, pairwise

import numpy as np

from paceline.model import chained
from paceline.rewrite.ragged import gathered, led_back, ragged, rows_of


def column(*rows: list[int]):
    return chained([len(row) for row in rows]), np.array(
        [*chain.from_iterable(rows)], dtype=np.int32
    )


def rows(starts, flat) -> list[list[int]]:
    return [flat[a:b].tolist() for a, b in pairwise(starts)]


def test_rows_are_picked_again_and_left_out():
    got = gathered(*column([1, 2], [], [3]), np.array([2, 0, 0, 1]))
    assert rows(*got) == [[3], [1, 2], [1, 2], []]
    assert rows(*gathered(*column([1], [2]), np.empty(0, np.int64))) == []


def test_pairs_become_rows_with_each_value_once():
    got = ragged(np.array([2, 0, 2, 0, 2]), np.array([5, 9, 1, 9, 5]), 4)
    assert rows(*got) == [[9], [], [1, 5], []]
    assert rows(*ragged(np.empty(0, int), np.empty(0, int), 2)) == [[], []]


def test_pairs_in_order_stay_as_they_are():
    got = ragged(np.array([0, 0, 1]), np.array([1, 2, 0]), 2)
    assert rows(*got) == [[1, 2], [0]]


def test_values_are_led_back_through_another_column():
    outer, inner = column([0, 2], [1], [2, 0]), column([7, 8], [], [8, 3])
    assert rows(*led_back(*outer, *inner)) == [[3, 7, 8], [], [3, 7, 8]]


def test_each_value_knows_its_row():
    assert rows_of(column([4, 4], [], [4])[0]).tolist() == [0, 0, 2]
