"""The collectives that sum nothing for everybody, and the barrier.

What their transfers carry is not told by `units`: they are simulated, not carried out.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from paceline.reduce.transfers import Draft, Transfers
from paceline.reduce.turns import ROUNDS, Near, around, in_order, shifted, ways_around


def half_ring(near: Near) -> Transfers:
    """Reduce-scatter or all-gather: once around the ring."""
    return ways_around(near, 1, ROUNDS)


def exchange(near: Near) -> Transfers:
    """All-to-all: every member sends every other its share, all at once."""
    draft, order = Draft(), in_order(near)
    for one, to in shifted(order, order):
        draft.add(one, to, 1 / len(order), out=to, into=one)
    return draft.done()


def broadcast(near: Near) -> Transfers:
    """The first member's buffer, streamed from member to member."""
    return _chain(in_order(near))


def reduce(near: Near) -> Transfers:
    """The sum, streamed from member to member and ending at the first."""
    return _chain(in_order(near)[::-1])


def _chain(order: Sequence[int]) -> Transfers:
    draft = Draft()
    got: tuple[int, ...] = ()
    for one, to in pairwise(order):
        got = (draft.add(one, to, 1.0, after=got, streamed=True),)
    return draft.done()


def gather(near: Near) -> Transfers:
    """All members send their share to the first."""
    draft, (head, *others) = Draft(), in_order(near)
    for at, one in enumerate(others):
        draft.add(one, head, 1 / (len(others) + 1), into=at)
    return draft.done()


def scatter(near: Near) -> Transfers:
    """The first member sends all others their share."""
    draft, (head, *others) = Draft(), in_order(near)
    for at, one in enumerate(others):
        draft.add(head, one, 1 / (len(others) + 1), out=at)
    return draft.done()


def barrier(near: Near) -> Transfers:
    """Twice around a ring, without a byte."""
    draft, order = Draft(), in_order(near)
    if len(order) > 1:
        around(draft, order, 2 * (len(order) - 1), 0.0, most=ROUNDS)
    return draft.done()


OTHERS: dict[str, Callable[[Near], Transfers]] = {
    "reduce_scatter": half_ring, "all_gather": half_ring, "all_to_all": exchange,
    "broadcast": broadcast, "reduce": reduce, "gather": gather, "scatter": scatter,
    "barrier": barrier,
}  # fmt: skip
