"""Ops dropped, merged, repeated and cloned: everything that speaks of them follows."""

import numpy as np
from small_jobs import Small

from paceline.model import verify
from paceline.rewrite.renumber import cloned, kept, merged, repeated
from paceline.rewrite.state import State, begun


def state() -> State:
    """0 -> 1 -> 2 -> 3, and a message from 1 to 4."""
    small = Small(2)
    small.group("dp")
    a = small.add(0, "x", "compute", 10, lead=1)
    b = small.add(0, "p2p", "send", 20, a, lead=2, match="m", group="dp", size=5)
    c = small.add(0, "y", "compute", 30, b, lead=3)
    small.add(0, "z", "host", 40, c, a, lead=4)
    small.add(1, "p2p", "recv", 50, lead=5, match="m", group="dp", size=5)
    return begun(small.graph, small.times, small.profile, None)


def after(it: State) -> list[list[int]]:
    return [sorted(it.graph.after(op).tolist()) for op in range(len(it.graph))]


def origins(it: State) -> list[list[int]]:
    return [
        it.origin_op[a:b].tolist() for a, b in zip(it.origin_from, it.origin_from[1:], strict=False)
    ]


def test_dropped_ops_are_awaited_by_nobody():
    out = kept(state(), np.array([True, False, True, True, False]))
    assert after(out) == [[], [], [0, 1]]
    assert out.times.duration_ns.tolist() == [10, 30, 40]
    assert origins(out) == [[0], [2], [3]]
    assert len(out.graph.match_group) == 0
    verify(out.graph)


def test_half_a_match_stays_a_match():
    out = kept(state(), np.array([True, False, True, True, True]))
    assert out.graph.match.tolist() == [-1, -1, -1, 0]
    verify(out.graph)


def test_merged_ops_wait_for_all_and_are_awaited_as_one():
    into, rows = np.array([0, 0, 1, 1, 2], dtype=np.int32), np.array([0, 3, 4])
    out = merged(state(), into, rows)
    assert after(out) == [[], [0], []]
    assert origins(out) == [[0, 1], [2, 3], [4]]
    assert out.times.lead_ns.tolist() == [1, 4, 5]


def test_merging_twice_keeps_all_origins():
    once = merged(state(), np.array([0, 0, 1, 2, 3], dtype=np.int32), np.array([0, 2, 3, 4]))
    twice = merged(once, np.array([0, 1, 0, 2], dtype=np.int32), np.array([0, 1, 3]))
    assert origins(twice) == [[0, 1, 3], [2], [4]]


def test_repeated_ops_are_awaited_at_their_last():
    out = repeated(state(), np.array([1, 3, 1, 1, 1]))
    assert after(out) == [[], [0], [0], [0], [3], [0, 4], []]
    assert origins(out) == [[0], [1], [1], [1], [2], [3], [4]]
    assert out.times.duration_ns.tolist() == [10, 20, 20, 20, 30, 40, 50]


def test_clones_wait_for_their_own():
    it = state()
    out = cloned(it, np.array([0, 1, 2, 3]), [5, 6])
    assert out.graph.worker.tolist() == [0, 0, 0, 0, 1, 5, 5, 5, 5, 6, 6, 6, 6]
    assert after(out)[5:] == [[], [5], [6], [5, 7], [], [9], [10], [9, 11]]
    assert origins(out)[5:] == [[0], [1], [2], [3]] * 2
    inner = cloned(it, np.array([2, 3]), [5])
    assert after(inner)[5:] == [[1], [0, 5]]
