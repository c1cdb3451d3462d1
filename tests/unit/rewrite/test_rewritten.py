"""The way back to the user's own ops."""

from itertools import chain

import numpy as np
from small_jobs import Small

from paceline.model import Note
from paceline.rewrite import Rewritten


def rewritten(*origins: list[int], notes: tuple[Note, ...] = ()) -> Rewritten:
    small = Small(1)
    for _ in origins:
        small.add(0, "x", "compute", 1)
    return Rewritten(
        graph=small.graph,
        times=small.times,
        cluster=None,
        machines={},
        origin_from=np.cumsum([0, *map(len, origins)]),
        origin_op=np.array([*chain.from_iterable(origins)], dtype=np.int32),
        notes=notes,
    )


def test_an_op_stands_for_one_several_or_none():
    it = rewritten([3], [], [5, 6])
    assert it.origin.tolist() == [3, -1, 5]
    assert [it.origins(op) for op in range(3)] == [(3,), (), (5, 6)]


def test_one_rewriting_behind_another_leads_back_through_both():
    note, other = Note(code="a", text="x"), Note(code="b", text="y")
    first = rewritten([4], [2, 9], [], notes=(note,))
    second = rewritten([1, 0], [2], [1], notes=(other,))
    both = second.behind(first)
    assert [both.origins(op) for op in range(3)] == [(2, 4, 9), (), (2, 9)]
    assert both.notes == (note, other)
