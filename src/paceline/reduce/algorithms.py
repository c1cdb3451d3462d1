"""How each algorithm moves a buffer between n members: sizes as shares of the buffer.

| all-reduce by | bytes over the busiest member's link, each way | messages one after another |
|---|---|---|
| ring | 2 (n - 1) / n | 2 (n - 1) |
| tree (two binary trees with half each, streamed) | 2 | about 2 log2 n |
| ps (the first member serves) | n - 1, in and then out | 2 |
| hierarchical (rings between neighborhoods) | 2 (m - 1) / m over m neighborhoods | 2 (m - 1) + 2 |
| forest (a tree for each member's shard) | 2 (n - 1) / n, less between neighborhoods | 4 |

`near` are the members by neighborhood (one machine, or the machines of one switch), each member in
one. Rings go through one neighborhood after the other. Two trees: Sanders, Speck and Träff 2009.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from paceline.reduce.transfers import Draft, Transfers

Near = Sequence[Sequence[int]]

ROUNDS = 32  # a longer ring takes several messages as one; each keeps its latency


def _in_order(near: Near) -> list[int]:
    return [member for group in near for member in group]


def _around(
    draft: Draft,
    order: Sequence[int],
    messages: int,
    total: float,
    fed: Mapping[int, tuple[int, ...]] | None = None,
) -> dict[int, int]:
    """`messages` rounds in which every member passes on to the next what it has just got.

    `fed` is what members wait for at first; returns what each has got in the end.
    """
    members, rounds = len(order), min(messages, ROUNDS)
    ready = {one: (fed or {}).get(one, ()) for one in order}
    got: dict[int, int] = {}
    for turn in range(rounds):
        at_once = messages * (turn + 1) // rounds - messages * turn // rounds
        got = {
            order[(at + 1) % members]: draft.add(
                one, order[(at + 1) % members], total * at_once / messages,
                after=ready[one], latencies=at_once - 1, out=1, into=1,
            )
            for at, one in enumerate(order)
        }  # fmt: skip
        ready = {one: (transfer,) for one, transfer in got.items()}
    return got


def ring(near: Near) -> Transfers:
    """All-reduce around a ring: shards are summed on the first way around, spread on the second."""
    return _rounds(near, 2)


def half_ring(near: Near) -> Transfers:
    """Reduce-scatter or all-gather: once around the ring."""
    return _rounds(near, 1)


def _rounds(near: Near, ways: int) -> Transfers:
    draft, order = Draft(), _in_order(near)
    members = len(order)
    if members > 1:
        _around(draft, order, ways * (members - 1), ways * (members - 1) / members)
    return draft.done()


def tree(near: Near) -> Transfers:
    """All-reduce up and down two binary trees; who passes on in one is a leaf of the other.

    Trees join machines; a machine's other members hand their buffer to the first of them.
    """
    draft, heads = Draft(), [group[0] for group in near]
    gathered = {
        group[0]: tuple(
            draft.add(one, group[0], 1.0, into=6 + at) for at, one in enumerate(group[1:])
        )
        for group in near
    }
    last: dict[int, tuple[int, ...]] = {head: gathered[head] for head in heads}
    for half in (0, 1) if len(heads) > 1 else ():
        order = (
            heads if half == 0 else heads[::-1] if len(heads) % 2 == 0 else heads[1:] + heads[:1]
        )
        for head, got in _up_and_down(draft, order, gathered, 3 * half).items():
            last[head] += got
    for group in near:
        for at, one in enumerate(group[1:]):
            draft.add(group[0], one, 1.0, after=last[group[0]], out=6 + at)
    return draft.done()


def _up_and_down(
    draft: Draft, order: Sequence[int], gathered: dict[int, tuple[int, ...]], slot: int
) -> dict[int, tuple[int, ...]]:
    """Half the buffer up a tree and down again; by member the transfers that completed it there."""
    size = len(order)
    above = [_parent(at, size) for at in range(size)]
    below: list[list[int]] = [[] for _ in order]
    for at in range(1, size):
        below[above[at]].append(at)
    leaves_first = sorted(range(1, size), key=lambda at: (at & -at, at))
    upward = [0] * size
    for at in leaves_first:
        fed = tuple(upward[child] for child in below[at])
        upward[at] = draft.add(
            order[at], order[above[at]], 0.5, after=gathered[order[at]] + fed,
            out=slot, into=slot + below[above[at]].index(at), streamed=True,
        )  # fmt: skip
    got = {0: gathered[order[0]] + tuple(upward[child] for child in below[0])}
    for at in reversed(leaves_first):
        parent = above[at]
        down = draft.add(
            order[parent], order[at], 0.5, after=got[parent],
            out=slot + 1 + below[parent].index(at), into=slot + 2, streamed=True,
        )  # fmt: skip
        got[at] = (down,)
    return {order[at]: transfers for at, transfers in got.items()}


def _parent(at: int, size: int) -> int:
    """Above whom a member hangs in a binary tree whose odd members are leaves and 0 is the root."""
    lowest = at & -at
    above = (at ^ lowest) | (lowest << 1)
    return above if 0 < above < size else at ^ lowest


def ps(near: Near) -> Transfers:
    """All-reduce by one server, the first member: all push to it, then all pull from it."""
    draft, (server, *others) = Draft(), _in_order(near)
    pushed = tuple(draft.add(one, server, 1.0, into=at) for at, one in enumerate(others))
    for at, one in enumerate(others):
        draft.add(server, one, 1.0, after=pushed, out=at)
    return draft.done()


def hierarchical(near: Near) -> Transfers:
    """All-reduce by rings between neighborhoods: one ring for each shard of a neighborhood."""
    rings = min(len(group) for group in near)
    if len(near) == 1 or all(len(group) == 1 for group in near):
        return ring(near)
    draft = Draft()
    fed: dict[int, tuple[int, ...]] = {group[at]: () for group in near for at in range(rings)}
    for group in near:
        for one, to in _shifted(group, group[:rings]):
            fed[to] += (draft.add(one, to, 1 / rings),)
    for at in range(rings):
        order = [group[at] for group in near]
        got = _around(
            draft, order, 2 * (len(near) - 1), 2 * (len(near) - 1) / len(near) / rings, fed
        )
        for head, transfer in got.items():
            fed[head] = (transfer,)
    for group in near:
        for to, one in _shifted(group, group[:rings]):
            draft.add(one, to, 1 / rings, after=fed[one], out=2, into=2)
    return draft.done()


def _shifted(senders: Sequence[int], receivers: Sequence[int]) -> list[tuple[int, int]]:
    """All pairs of different members, so ordered that at each turn everybody meets another."""
    size = len(senders)
    return [
        (senders[at], receivers[(at + turn) % size])
        for turn in range(1, size)
        for at in range(size)
        if (at + turn) % size < len(receivers)
    ]


def forest(near: Near) -> Transfers:
    """All-reduce by a tree for each member's shard: neighbors first sum what goes far."""
    draft, order = Draft(), _in_order(near)
    share = 1 / len(order)
    home = {one: at for at, group in enumerate(near) for one in group}

    def deputy(group: int, shard: int) -> int:
        """Who in a neighborhood stands for the owner of a shard."""
        if home[order[shard]] == group:
            return order[shard]
        return near[group][shard % len(near[group])]

    size = len(order)
    place = {one: at for at, one in enumerate(order)}
    pairs = [(one, place[owner]) for one, owner in _shifted(order, order)]
    sums: dict[tuple[int, int], tuple[int, ...]] = {}
    for one, shard in pairs:
        to = deputy(home[one], shard)
        if to != one:
            own = draft.add(one, to, share, out=shard, into=size + one)
            sums[to, shard] = (*sums.get((to, shard), ()), own)
    far = [(one, shard) for one, shard in pairs if home[one] != home[order[shard]]]
    far = [(one, shard) for one, shard in far if deputy(home[one], shard) == one]
    for one, shard in far:
        owner, whole = order[shard], sums.get((one, shard), ())
        own = draft.add(one, owner, share, after=whole, out=shard, into=size + one)
        sums[owner, shard] = (*sums.get((owner, shard), ()), own)
    got: dict[tuple[int, int], int] = {}
    for one, shard in pairs:
        if deputy(home[one], shard) in {one, order[shard]}:
            whole = sums.get((order[shard], shard), ())
            got[one, shard] = draft.add(
                order[shard], one, share, after=whole, out=size + one, into=shard
            )
    for one, shard in pairs:
        if (one, shard) not in got:
            head = deputy(home[one], shard)
            draft.add(head, one, share, after=(got[head, shard],), out=size + one, into=shard)
    return draft.done()


def exchange(near: Near) -> Transfers:
    """All-to-all: every member sends every other its share, all at once."""
    draft, order = Draft(), _in_order(near)
    for one, to in _shifted(order, order):
        draft.add(one, to, 1 / len(order), out=to, into=one)
    return draft.done()


def broadcast(near: Near) -> Transfers:
    """The first member's buffer, streamed from member to member."""
    return _chain(_in_order(near))


def reduce(near: Near) -> Transfers:
    """The sum, streamed from member to member and ending at the first."""
    return _chain(_in_order(near)[::-1])


def _chain(order: Sequence[int]) -> Transfers:
    draft = Draft()
    got: tuple[int, ...] = ()
    for one, to in pairwise(order):
        got = (draft.add(one, to, 1.0, after=got, streamed=True),)
    return draft.done()


def gather(near: Near) -> Transfers:
    """All members send their share to the first."""
    draft, (head, *others) = Draft(), _in_order(near)
    for at, one in enumerate(others):
        draft.add(one, head, 1 / (len(others) + 1), into=at)
    return draft.done()


def scatter(near: Near) -> Transfers:
    """The first member sends all others their share."""
    draft, (head, *others) = Draft(), _in_order(near)
    for at, one in enumerate(others):
        draft.add(head, one, 1 / (len(others) + 1), out=at)
    return draft.done()


def barrier(near: Near) -> Transfers:
    """Twice around a ring, without a byte."""
    draft, order = Draft(), _in_order(near)
    if len(order) > 1:
        _around(draft, order, 2 * (len(order) - 1), 0.0)
    return draft.done()


ALL_REDUCE: dict[str, Callable[[Near], Transfers]] = {
    "ring": ring, "tree": tree, "hierarchical": hierarchical, "forest": forest, "ps": ps,
}  # fmt: skip
OTHERS: dict[str, Callable[[Near], Transfers]] = {
    "reduce_scatter": half_ring, "all_gather": half_ring, "all_to_all": exchange,
    "broadcast": broadcast, "reduce": reduce, "gather": gather, "scatter": scatter,
    "barrier": barrier,
}  # fmt: skip
