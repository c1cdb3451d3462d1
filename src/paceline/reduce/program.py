"""What each member does in an all-reduce: whom it sends which units, from whom it gets which.

Made from Transfers, the rows that the simulator plays. Hops are numbered as these rows; both ends
take them in the same order, by round and then by number, so that no order of arrival can lock
members up. Everything that is wrong with an algorithm shows here: a part summed twice or not at
all, or passed on before it is whole, raises ModelError.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paceline.model import ModelError
from paceline.reduce.algorithms import ALL_REDUCE, hierarchical, ring
from paceline.reduce.transfers import Transfers
from paceline.reduce.turns import Near

_NO_END = 2**31  # rounds of a ring that is carried out message by message


def _exact_ring(near: Near) -> Transfers:
    return ring(near, _NO_END)


def _exact_hierarchical(near: Near) -> Transfers:
    return hierarchical(near, _NO_END)


EXACT: dict[str, Callable[[Near], Transfers]] = {
    **ALL_REDUCE, "ring": _exact_ring, "hierarchical": _exact_hierarchical,
}  # fmt: skip


class Hop(NamedTuple):
    """One end of a transfer: this member sends the units to a peer, or gets them from it.

    What it gets it adds to its own, or takes instead; with a hop that `completes`, its units hold
    the sum of all members.
    """

    number: int
    round: int
    peer: int
    sends: bool
    first: int
    last: int
    adds: bool
    cut: bool
    completes: bool


class Program(NamedTuple):
    """The hops of one member in their order, over a buffer cut into equal units."""

    units: int
    hops: tuple[Hop, ...]


def programs(transfers: Transfers, members: int) -> tuple[Program, ...]:
    """The program of each member; raises ModelError for transfers that make no all-reduce."""
    turn = rounds(transfers)
    source: list[int] = transfers.source.tolist()
    target: list[int] = transfers.target.tolist()
    what: list[tuple[int, int, int, int]] = np.stack(
        (transfers.first, transfers.last, transfers.adds, transfers.cut), axis=1
    ).tolist()
    sums = _Sums(members, transfers.units)
    hops: list[list[Hop]] = [[] for _ in range(members)]
    for row in sorted(range(len(turn)), key=lambda row: (turn[row], row)):
        one, to, (first, last, adds, cut) = source[row], target[row], what[row]
        whole = sums.moved(row, one, to, range(first, last), bool(adds))
        flags = bool(adds), bool(cut)
        hops[one].append(Hop(row, turn[row], to, True, first, last, *flags, False))
        hops[to].append(Hop(row, turn[row], one, False, first, last, *flags, whole))
    sums.check()
    return tuple(Program(transfers.units, tuple(own)) for own in hops)


class _Sums:
    """Of each member and unit, whose gradients are summed there, as bits."""

    def __init__(self, members: int, units: int) -> None:
        self.all = (1 << members) - 1
        self.held = [[1 << member] * units for member in range(members)]

    def moved(self, row: int, one: int, to: int, units: range, adds: bool) -> bool:
        """Adds or copies units from one member to another; true if that made them whole."""
        if not units or units.start < 0 or units.stop > len(self.held[0]):
            raise _wrong(row, "it carries no part of the buffer")
        for unit in units:
            brings, has = self.held[one][unit], self.held[to][unit]
            if adds and brings & has:
                raise _wrong(row, f"worker {to} has in its sum already what worker {one} brings")
            if not adds and brings != self.all:
                raise _wrong(row, f"worker {one} spreads what is not yet the sum of all")
            self.held[to][unit] = brings | (has if adds else 0)
        return adds and all(self.held[to][unit] == self.all for unit in units)

    def check(self) -> None:
        """Nothing, if every member holds the sum of all."""
        for member, own in enumerate(self.held):
            if any(unit != self.all for unit in own):
                raise _wrong(-1, f"worker {member} does not get the sum of all")


def rounds(transfers: Transfers) -> list[int]:
    """How many transfers each one needs to have been before it, one after the other."""
    turn: list[int] = []
    latest: dict[tuple[int, int], int] = {}
    bounds: list[int] = transfers.after_from.tolist()
    after: list[int] = transfers.after.tolist()
    slots: list[tuple[int, int]] = np.stack((transfers.source, transfers.out), axis=1).tolist()
    for row, (source, out) in enumerate(slots):
        slot = source, out
        fed = [turn[before] for before in after[bounds[row] : bounds[row + 1]]]
        turn.append(max([*fed, latest.get(slot, -1)]) + 1)
        latest[slot] = turn[row]
    return turn


def _wrong(row: int, why: str) -> ModelError:
    return ModelError(
        f"{why}.",
        where=f"transfer {row}" if row >= 0 else None,
        expected="An all-reduce sums every part once, then spreads it.",
    )
