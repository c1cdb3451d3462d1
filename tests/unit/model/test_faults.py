"""Schedules of faults: built, printed, moved into phases, and refused in a cluster."""

import pytest

from paceline.model import (
    Cluster,
    Faults,
    Link,
    Machine,
    ModelError,
    Slow,
    machine_of,
)

CLUSTER = Cluster(
    machines=(Machine(name="m0", slots=2), Machine(name="m1")), links=(Link(a="m0", b="sw"),)
)


def test_a_schedule_prints_as_the_file_that_it_is() -> None:
    made = (
        Faults()
        .slow(worker=2, step=3, by_ms=200)
        .lose(machine="m1", step=5)
        .rejoin(machine="m1", after_s=1.5)
        .limit("m0", "a b", step=2, bytes_per_s=1_250_000, latency_ms=0.25)
        .cut("null", "m0", step=9, until=12, reached="last")
    )
    assert str(made).splitlines() == [
        "faults:",
        "- slow: {worker: 2, step: 3, by: 200ms}",
        "- lose: {machine: m1, step: 5}",
        "- rejoin: {machine: m1, after: 1500ms}",
        '- limit: {a: m0, b: "a b", step: 2, rate: 10Mbit, latency: 250us}',
        '- cut: {a: "null", b: m0, step: 9, until: 12, reached: last}',
    ]


def test_building_leaves_what_was_there() -> None:
    first = Faults()
    assert first.lose(worker=0, step=1).faults
    assert first == Faults()


def test_phases_follow_each_other_and_end_what_they_began() -> None:
    inside = Faults().slow(worker=1, by_ms=5).limit("m0", "sw", step=2, until=4, loss=0.1)
    made = Faults().phase("clean", 30).phase("slow", 20, inside.lose(worker=1, step=19))
    assert [(p.name, p.step, p.until) for p in made.phases] == [("clean", 0, 30), ("slow", 30, 50)]
    slow, limit, lose = made.faults
    assert (slow.step, slow.until) == (30, 50)
    assert (limit.step, limit.until) == (32, 34)
    assert lose.step == 49


@pytest.mark.parametrize(
    "inside",
    [
        Faults().slow(worker=0, step=20, by_ms=1),
        Faults().cut("m0", "sw", step=3, until=21),
        Faults().lose(worker=0, step=-1),
    ],
)
def test_a_fault_lies_inside_of_its_phase(inside: Faults) -> None:
    with pytest.raises(ModelError, match="outside of the phase 'slow'"):
        Faults().phase("clean", 30).phase("slow", 20, inside)


def test_a_return_is_not_moved_by_its_phase() -> None:
    inside = Faults().lose(machine="m1", step=1).rejoin(machine="m1", after_s=2)
    made = Faults().phase("a", 5).phase("b", 5, inside)
    assert made.faults[1] == inside.faults[1]
    assert made.verify(CLUSTER) is made


GOOD = [
    Faults().slow(worker=0, step=3, by_ms=1).slow(worker=0, step=4, by_ms=1),
    Faults().slow(worker=0, step=3, by_ms=1).slow(worker=0, step=3, by_ms=1, where="forward"),
    Faults().slow(worker=0, step=3, by_ms=1).slow(worker=0, step=3, factor=2),
    Faults().slow(worker=0, step=3, by_ms=1).slow(worker=1, step=3, by_ms=1),
    Faults().cut("m0", "sw", step=3).heal("sw", "m0", step=5).cut("m0", "sw", step=5),
    Faults().lose(worker=1, step=3).rejoin(worker=1).lose(worker=1, step=9),
    Faults().slow(worker=1, step=2, by_ms=3).lose(worker=1, step=3),
    Faults().hang(worker=2, step=0, where="backward"),
]


@pytest.mark.parametrize("made", GOOD, ids=str)
def test_what_can_happen_passes(made: Faults) -> None:
    assert made.verify(CLUSTER) is made


BAD = [
    (Faults().lose(worker=3, step=1), "names worker 3, but workers are 0 to 2"),
    (Faults().lose(machine="m7", step=1), "names 'm7', but machines are m0, m1"),
    (Faults().cut("m1", "sw", step=1), "names no link; links are m0 - sw"),
    (Faults().lose(worker=1, step=-1), "begins at step -1"),
    (Faults().slow(worker=1, step=4, until=4, by_ms=3), "ends before step 4"),
    (Faults().slow(worker=1, step=4, by_ms=-3), "a time below 0"),
    (Faults().slow(worker=1, step=4, factor=0), "has 0 where more than 0"),
    (Faults().slow(worker=1, step=4, factor=float("nan")), "has nan where"),
    (Faults().freeze(worker=1, step=4, for_s=0), "has 0 where more than 0"),
    (Faults().limit("m0", "sw", step=4, loss=1.0), "loses a share of 1.0"),
    (Faults().limit("m0", "sw", step=4), "limits neither"),
    (Faults().lose(step=4), "names neither"),
    (Faults().lose(worker=0, machine="m0", step=4), "names both"),
    (Faults().slow(worker=0, step=4), "one of by, factor and cpu"),
    (Faults().slow(worker=0, step=4, by_ms=1, cpu=1), "one of by, factor and cpu"),
    (Faults().slow(worker=0, step=4, factor=2, how="host"), "says how"),
    (Faults().slow(machine="m0", step=4, cpu=1, where="update"), "says where"),
    (Faults().slow(worker=0, step=4, factor=2, where="load"), "computes while it loads"),
    (Faults().slow(worker=0, step=4, by_ms=2, where="load", how="host"), "computes while"),
    (Faults().slow(worker=0, step=4, by_ms=2, where="update", how="host"), "which is one op"),
    (Faults().freeze(machine="m0", step=4, for_s=1, where="update"), "different phases"),
    (
        Faults().slow(worker=0, step=3, until=6, by_ms=1).slow(worker=0, step=5, by_ms=2),
        "has not ended",
    ),
    (Faults().cut("m0", "sw", step=3).cut("sw", "m0", step=5), "has not ended"),
    (
        Faults().limit("m0", "sw", step=3, loss=0.1).limit("m0", "sw", step=5, loss=0.2),
        "has not ended",
    ),
    (Faults().heal("m0", "sw", step=5), "neither cut nor limited"),
    (Faults().heal("m0", "sw", step=5).cut("m0", "sw", step=6), "neither cut nor limited"),
    (Faults().rejoin(machine="m0"), "not lost before"),
    (Faults().lose(worker=1, step=3).lose(worker=1, step=5), "has killed"),
    (Faults().lose(worker=1, step=3).freeze(worker=1, step=3, for_s=1), "has killed"),
]


@pytest.mark.parametrize(("made", "why"), BAD, ids=[why for _, why in BAD])
def test_what_cannot_happen_is_refused(made: Faults, why: str) -> None:
    with pytest.raises(ModelError) as caught:
        made.verify(CLUSTER)
    assert why in caught.value.found
    assert caught.value.expected


def test_without_a_cluster_names_are_not_known() -> None:
    made = Faults().lose(machine="m7", step=1)
    assert made.verify() is made


def test_two_phases_of_one_name_are_refused() -> None:
    with pytest.raises(ModelError, match="two phases are called 'a'"):
        Faults().phase("a", 1).phase("a", 1).verify()


def test_a_broken_rule_names_the_fault_by_its_place() -> None:
    same = Slow(worker=0, step=1, by_ns=5)
    found = Faults(faults=(same, Slow(worker=0, step=1, by_ns=6))).broken()
    assert found is not None
    assert found[0] == 1


def test_ranks_fill_machines_in_their_order() -> None:
    assert [machine_of(rank, CLUSTER) for rank in range(4)] == ["m0", "m0", "m1", None]
