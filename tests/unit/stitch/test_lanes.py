"""Lane names that mean the same on every worker."""

import numpy as np
from made_traces import Made

from paceline.model import TALKING, Kind, Trace
from paceline.stitch import flatten, lanes
from paceline.stitch.fold_keys import keys


def named(*traces: Trace) -> list[list[str]]:
    """The new name of each lane of each worker, by position of the lane."""
    pieces = [
        flatten.pieces(t, (0,), m) for t, m in zip(traces, flatten.linked(traces), strict=True)
    ]
    _, doing = keys(traces, pieces)
    talks = [np.isin(t.kind[p.event], TALKING) for t, p in zip(traces, pieces, strict=True)]
    names, numbers = lanes.named(pieces, doing, talks)
    return [[names[at] for at in own] for own in numbers]


def worker(rank: int, threads: dict[str, str], **more: str) -> Trace:
    """Lanes with a letter for each thing done, 10 ns long; capitals talk."""
    made = Made(rank)
    for turn, (lane, doing) in enumerate((threads | more).items()):
        for at, name in enumerate(doing):
            kind = Kind.COLLECTIVE if name.isupper() else Kind.HOST
            made.add(name, 100 * at + turn, 100 * at + turn + 10, lane=lane, kind=kind)
    return made.trace()


def test_threads_get_names_by_what_they_do() -> None:
    first = worker(0, {"thread 7": "uv", "thread 9": "abcd", "thread 3": "RRRRRR"})
    second = worker(1, {"thread 9": "RRRRRR", "thread 12": "abcd", "thread 30": "uv"})
    assert named(first, second) == [
        ["thread 1", "main", "thread 2"], ["thread 2", "main", "thread 1"]
    ]  # fmt: skip


def test_other_lanes_keep_their_names() -> None:
    assert named(worker(0, {"stream 7": "ab", "comm": "R", "thread 5": "a"})) == [
        ["stream 7", "comm", "main"]
    ]


def test_there_is_one_main() -> None:
    assert named(worker(0, {"main": "a", "thread 5": "ab"})) == [["main", "thread 1"]]


def test_lanes_alike_keep_their_order() -> None:
    first = worker(0, {"thread 1": "abc", "thread 2": "RR", "thread 3": "RR"})
    second = worker(1, {"thread 8": "abc", "thread 3": "RR", "thread 2": "RR"})
    assert named(first, second) == [["main", "thread 1", "thread 2"]] * 2


def test_a_lane_that_nobody_else_has_gets_a_new_name() -> None:
    first = worker(0, {"thread 1": "abc"})
    second = worker(1, {"thread 1": "xyz", "thread 4": "abc"})
    assert named(first, second) == [["main"], ["thread 1", "main"]]


def test_lanes_without_pieces_keep_their_names() -> None:
    made = Made()
    made.add("a", 0, 10, lane="thread 4")
    made.add("b", 0, 10, lane="thread 5", step=-1)
    assert named(made.trace()) == [["main", "thread 5"]]
