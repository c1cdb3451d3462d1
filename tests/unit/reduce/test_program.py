"""Programs: the transfers of the table, hop by hop, and what they compute in any order."""

import random
from collections import deque

import numpy as np
import pytest

from paceline.model import ModelError
from paceline.reduce import (
    ALL_REDUCE,
    EXACT,
    Course,
    Near,
    Program,
    Transfers,
    along,
    messages,
    programs,
)
from paceline.reduce.transfers import Draft

CAPACITY = 5  # elements that a connection holds in these tests


def neighborhoods(members: int) -> list[Near]:
    """All apart, all together, halves, uneven parts, and in an odd order."""
    every = list(range(members))
    half = members // 2
    some: list[Near] = [[[one] for one in every], [every]]
    if members >= 4:
        some += [[every[:half], every[half:]], [every[:1], every[1:3], every[3:]]]
        some += [[every[::-2], every[-2::-2]]]
    return some


CASES = [
    pytest.param(name, near, id=f"{name}-{'+'.join(str(len(group)) for group in near)}-{at}")
    for name in ALL_REDUCE
    for members in range(2, 10)
    for at, near in enumerate(neighborhoods(members))
]


def made(name: str, near: Near) -> tuple[Transfers, tuple[Program, ...]]:
    transfers = EXACT[name](near)
    return transfers, programs(transfers, sum(len(group) for group in near))


@pytest.mark.parametrize(("name", "near"), CASES)
def test_who_sends_how_much_to_whom_is_what_the_simulator_plays(name: str, near: Near) -> None:
    played = ALL_REDUCE[name](near)
    _, own = made(name, near)
    told: dict[tuple[int, int], float] = {}
    for one, to, share in zip(played.source, played.target, played.share, strict=True):
        told[int(one), int(to)] = told.get((int(one), int(to)), 0.0) + float(share)
    sent: dict[tuple[int, int], float] = {}
    got: dict[tuple[int, int], float] = {}
    for member, program in enumerate(own):
        for hop in program.hops:
            share = (hop.last - hop.first) / program.units
            way = (member, hop.peer) if hop.sends else (hop.peer, member)
            into = sent if hop.sends else got
            into[way] = into.get(way, 0.0) + share
    assert sent == pytest.approx(told)
    assert got == pytest.approx(told)


@pytest.mark.parametrize(("name", "near"), CASES)
def test_what_a_member_passes_on_waits_for_what_the_table_says(name: str, near: Near) -> None:
    transfers, own = made(name, near)
    for member, program in enumerate(own):
        found = messages(program, 10 * program.units, 10**9)
        at = {one.hop.number: number for number, one in enumerate(found)}
        reach: list[set[int]] = []
        for number, one in enumerate(found):
            same = [k for k in range(number) if found[k].hop[2:4] == one.hop[2:4]]
            direct = {*one.after, *one.behind, *same}
            reach.append(direct.union(*(reach[k] for k in direct)))
            if one.hop.sends:
                row = one.hop.number
                bounds = slice(transfers.after_from[row], transfers.after_from[row + 1])
                fed = {at[int(before)] for before in transfers.after[bounds]}
                assert fed <= reach[number], (member, one)


@pytest.mark.parametrize(("name", "near"), CASES)
def test_what_a_message_waits_for_lies_in_earlier_rounds(name: str, near: Near) -> None:
    _, own = made(name, near)
    for program in own:
        found = messages(program, 10 * program.units, 10**9)
        for one in found:
            assert all(found[before].hop.round < one.hop.round for before in one.after)


def carried_out(own: tuple[Program, ...], elements: int, chunk: int, seed: int) -> np.ndarray:
    """What each member holds in the end, with messages that move by chance, bit by bit."""
    draw = random.Random(seed)
    parts = np.random.default_rng(seed).standard_normal((len(own), elements)).astype(np.float32)
    held = parts.copy()
    courses = [Course(messages(program, elements, chunk)) for program in own]
    pipes: dict[tuple[int, int], deque[np.float32]] = {}
    while any(course.left for course in courses):
        lines = [
            (member, peer, line, sends)
            for member, course in enumerate(courses)
            for lines, sends in ((course.outgoing, True), (course.incoming, False))
            for peer, line in lines.items()
            if line
        ]
        draw.shuffle(lines)
        moved = 0
        for member, peer, line, sends in lines:
            course = courses[member]
            one, at = course.messages[line[-1]], course.at[line[-1]]
            limit = course.ready(line)
            pipe = pipes.setdefault((member, peer) if sends else (peer, member), deque())
            room = CAPACITY - len(pipe) if sends else len(pipe)
            count = draw.randint(0, max(min(limit - at, room), 0))
            for element in range(at, at + count):
                if sends:
                    pipe.append(held[member, element])
                elif one.hop.adds:
                    held[member, element] += pipe.popleft()
                else:
                    held[member, element] = pipe.popleft()
            if count:
                course.moved(line, at + count)
            moved += max(min(limit - at, room), 0)
        assert moved, "members wait for each other"
    assert np.allclose(held[0], parts.sum(axis=0), atol=1e-5)
    return held


@pytest.mark.parametrize(("name", "near"), CASES)
def test_all_members_end_with_the_same_bits(name: str, near: Near) -> None:
    _, own = made(name, near)
    for seed, (elements, chunk) in enumerate([(23, 3), (2, 1), (1, 4), (40, 100)]):
        held = carried_out(own, elements, chunk, seed)
        again = carried_out(own, elements, chunk, seed)
        assert (held == held[0]).all()
        assert (held == again).all()


@pytest.mark.parametrize("order", range(3))
def test_the_order_of_arrival_changes_no_bit(order: int) -> None:
    _, own = made("ps", [[0], [1], [2], [3], [4]])
    elements = 40
    parts = np.random.default_rng(7).standard_normal((5, elements)).astype(np.float32)
    straight = parts[0].copy()
    for part in parts[1:]:
        straight += part
    course = Course(messages(own[0], elements, 100))
    draw = random.Random(order)
    held = parts[0].copy()
    while any(course.incoming.values()):
        peer = draw.choice([peer for peer, line in course.incoming.items() if line])
        line = course.incoming[peer]
        at, limit = course.at[line[-1]], course.ready(line)
        to = draw.randint(at, limit)
        if to > at:
            held[at:to] += parts[peer, at:to]
            course.moved(line, to)
    assert (held == straight).all()


@pytest.mark.parametrize(("name", "near"), CASES)
def test_every_part_is_completed_once(name: str, near: Near) -> None:
    _, own = made(name, near)
    completed = [
        unit
        for program in own
        for hop in program.hops
        if hop.completes
        for unit in range(hop.first, hop.last)
    ]
    assert sorted(completed) == list(range(own[0].units))


@pytest.mark.parametrize("parents", [[0, 0], [1, 1, 1], [1, 2, 2, 2], [0, 0, 1, 2, 3], [4] * 5])
def test_any_tree_sums_and_spreads(parents: list[int]) -> None:
    own = programs(along(parents), len(parents))
    held = carried_out(own, 31, 4, 1)
    assert (held == held[0]).all()
    peers = {(member, hop.peer) for member, program in enumerate(own) for hop in program.hops}
    assert peers == {
        pair for one, to in enumerate(parents) if one != to for pair in ((one, to), (to, one))
    }


@pytest.mark.parametrize("parents", [[1, 0], [0, 1], [1, 2, 0], [0, 5], [0, -1], [0, 2, 1]])
def test_what_is_no_tree_is_refused(parents: list[int]) -> None:
    with pytest.raises(ModelError, match="no tree"):
        along(parents)


def test_long_rings_have_a_message_for_each_round() -> None:
    members = 20
    _, own = made("ring", [[one] for one in range(members)])
    assert all(len(program.hops) == 4 * (members - 1) for program in own)
    assert len(ALL_REDUCE["ring"]([[one] for one in range(members)]).source) == 32 * members


def wrong(*rows: tuple[int, int, bool]) -> Transfers:
    draft = Draft()
    before: tuple[int, ...] = ()
    for one, to, adds in rows:
        before = (draft.add(one, to, 1.0, after=before, units=(0, 1), adds=adds),)
    return draft.done()


@pytest.mark.parametrize(
    ("transfers", "why"),
    [
        (wrong((0, 1, True), (0, 1, True)), "in its sum already"),
        (wrong((0, 1, False)), "not yet the sum of all"),
        (wrong((0, 1, True)), "worker 0 does not get"),
        (ALL_REDUCE["ring"]([[one] for one in range(20)]), "no part of the buffer"),
    ],
)
def test_transfers_that_make_no_all_reduce_are_refused(transfers: Transfers, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        programs(transfers, 20 if transfers.units == 20 else 2)


def test_hops_that_may_be_cut_become_chunks_and_passed_on_one_by_one() -> None:
    own = programs(along([0, 0, 1]), 3)
    found = messages(own[1], 100, 30)
    up = [one for one in found if one.hop.sends and one.hop.adds]
    assert [(one.begin, one.end, one.chunk) for one in up] == [
        (0, 25, 0), (25, 50, 1), (50, 75, 2), (75, 100, 3),
    ]  # fmt: skip
    assert [len(one.after) for one in up] == [1, 1, 1, 1]


def test_parts_smaller_than_an_element_are_no_messages() -> None:
    _, own = made("ring", [[one] for one in range(6)])
    assert sum(len(messages(program, 2, 10)) for program in own) == 2 * 2 * 10
