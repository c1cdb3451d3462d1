"""Several traces of one worker as one: tables merge, indices move, facts fill in."""

import numpy as np
from made_traces import Made

from paceline.model import Kind, Norms, verify
from paceline.stitch.concat import owners_of, rows, together, with_links


def test_one_part_is_itself() -> None:
    made = Made()
    made.add("a", 0, 1)
    trace = made.trace()
    assert together([trace]) is trace


def test_parts_follow_each_other_and_own_links_move() -> None:
    one, two = Made(3), Made(3)
    one.add("a", 0, 5, lane="main")
    one.add("b", 5, 9, lane="gpu", after=(0,), layer="l0")
    two.add("b", 20, 25, lane="main", algorithm="ring")
    two.add("c", 25, 30, lane="other", after=(0, (4, 7)), layer="l1")
    joined = verify(together([one.trace(machine="m0"), two.trace(machine="m9", device="gpu")]))
    assert [event.name for event in joined] == ["a", "b", "b", "c"]
    assert [event.lane for event in joined] == ["main", "gpu", "main", "other"]
    assert [event.layer for event in joined] == [None, "l0", None, "l1"]
    assert [event.algorithm for event in joined] == [None, None, "ring", None]
    assert [event.after for event in joined] == [(), ((3, 0),), (), ((3, 2), (4, 7))]
    assert joined.names == ("a", "b", "c")
    assert joined.facts.machine == "m0"
    assert joined.facts.device == "gpu"


def test_a_group_that_tells_its_members_is_the_one_that_does_not() -> None:
    one, two = Made(), Made()
    one.add("x", 0, 1, kind=Kind.COLLECTIVE, group="dp")
    one.add("x", 1, 2, kind=Kind.COLLECTIVE, group=("tp", (0, 1)))
    two.add("x", 2, 3, kind=Kind.COLLECTIVE, group=("dp", (0, 1, 2)))
    two.add("x", 3, 4, kind=Kind.COLLECTIVE, group=("tp", (0, 5)))
    two.add("x", 4, 5)
    joined = together([one.trace(), two.trace()])
    assert [event.group for event in joined] == ["dp", "tp", "dp", "tp", None]
    assert [group.members for group in joined.groups] == [(0, 1, 2), (0, 1), (0, 5)]


def test_the_highest_peak_and_all_norms_stay() -> None:
    one, two = Made(), Made()
    one.add("x", 0, 1)
    two.add("x", 1, 2)
    norms = Norms(step=np.array([4]), loss=np.array([1.5]), local=np.ones(1), average=np.ones(1))
    a = one.trace(peak_bytes=5)
    b = two.builder.trace(0, clock="unix", norms=norms, facts=two.trace(peak_bytes=9).facts)
    joined = together([a, b])
    assert joined.facts.peak_bytes == 9
    assert joined.norms == norms


def test_links_are_added_beside_those_there() -> None:
    made = Made(2)
    for at in range(4):
        made.add("x", at, at + 1, after=(0,) if at == 2 else ())
    trace = verify(with_links(made.trace(), np.array([3, 2]), np.array([1, 1])))
    assert [event.after for event in trace] == [(), (), ((2, 0), (2, 1)), ((2, 1),)]
    assert owners_of(trace).tolist() == [2, 2, 3]
    none = np.empty(0, dtype=np.int64)
    assert with_links(trace, none, none) is trace


def test_chosen_rows_lose_their_links() -> None:
    made = Made()
    made.add("a", 0, 1)
    made.add("b", 1, 2, after=(0,))
    assert [(event.name, event.after) for event in verify(rows(made.trace(), np.array([1])))] == [
        ("b", ())
    ]
