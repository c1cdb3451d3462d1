"""Levels and queues: which exchanges come after which."""

import numpy as np
from small_jobs import Small

from paceline.model import Kind
from paceline.rewrite.queue import apart, levels_of, queued


def levels(small: Small) -> list[int]:
    queue = queued(small.graph)
    return levels_of(small.graph, queue, small.graph.kind == Kind.COLLECTIVE).tolist()


def test_only_results_count_and_not_the_order_of_a_lane():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 1) for w in (0, 1)}
    small.reduce("a", 1, 8, first)
    meet = small.reduce("b", 1, 8, first)
    second = small.add(0, "gpu", "compute", 1, meet[0])
    small.add(0, "p2p", "send", 1, second, match="m")
    small.add(1, "p2p", "recv", 1, match="m")
    third = small.add(1, "p2p", "copy", 1)
    small.reduce("c", 1, 8, {0: second, 1: third})
    assert levels(small) == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]


def test_what_waits_for_itself_has_no_level():
    small = Small(1)
    small.add(0, "a", "compute", 1, 1)
    small.add(0, "b", "compute", 1, 0)
    small.add(0, "c", "compute", 1)
    small.add(0, "b", "compute", 1)
    assert levels(small) == [-1, -1, 0, -1]


def test_queues_follow_ids_over_lanes():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 1) for w in (0, 1)}
    for at, lane in enumerate(("x", "y", "x")):
        small.reduce(f"c{at}", 1, 8, first, lane=lane)
    queue = queued(small.graph)
    assert queue.before.tolist() == [-1, 0, 1]
    assert queue.behind.tolist() == [-1, -1, 4, 5, 6, 7, -1, -1]


def test_a_match_that_misses_a_member_is_no_neighbor():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 1) for w in (0, 1)}
    small.reduce("a", 1, 8, first)
    small.reduce("b", 1, 8, {0: first[0]})
    small.reduce("c", 1, 8, first)
    assert queued(small.graph).before.tolist() == [-1, -1, -1]


def test_groups_of_one_class_share_no_worker():
    small = Small(4)
    for name, members in (("tp0", (0, 1)), ("tp1", (2, 3)), ("dp0", (0, 2)), ("dp1", (1, 3))):
        small.group(name, *members)
    small.group("all")
    for worker in range(4):
        small.add(worker, "gpu", "compute", 1)
    assert apart(small.graph).tolist() == [0, 0, 1, 1, 2, 3]


def test_an_empty_graph_has_no_levels():
    small = Small(1)
    assert np.array(levels(small)).size == 0
