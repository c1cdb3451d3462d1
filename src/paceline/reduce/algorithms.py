"""How each algorithm moves a buffer between n members: sizes as shares of the buffer.

| all-reduce by | bytes over the busiest member's link, each way | messages one after another |
|---|---|---|
| ring | 2 (n - 1) / n | 2 (n - 1) |
| tree (two binary trees with half each, streamed) | 2 | about 2 log2 n |
| ps (the first member serves) | n - 1, in and then out | 2 |
| hierarchical (rings between neighborhoods) | 2 (m - 1) / m over m neighborhoods | 2 (m - 1) + 2 |
| forest (a tree for each member's shard) | 2 (n - 1) / n, less between neighborhoods | 4 |

`near` are the members by neighborhood (one machine, or the machines of one switch), each member in
one. Long rings take several messages as one; with `most` as large as the ring they do not.
"""

from collections.abc import Callable

from paceline.reduce.transfers import Draft, Transfers
from paceline.reduce.trees import tree
from paceline.reduce.turns import ROUNDS, Near, around, in_order, one_unit, shifted, ways_around


def ring(near: Near, most: int = ROUNDS) -> Transfers:
    """All-reduce around a ring: shards are summed on the first way around, spread on the second."""
    return ways_around(near, 2, most)


def ps(near: Near) -> Transfers:
    """All-reduce by one server, the first member: all push to it, then all pull from it."""
    draft, (server, *others) = Draft(), in_order(near)
    pushed = tuple(
        draft.add(one, server, 1.0, into=at, units=(0, 1), adds=True)
        for at, one in enumerate(others)
    )
    for at, one in enumerate(others):
        draft.add(server, one, 1.0, after=pushed, out=at, units=(0, 1))
    return draft.done()


def hierarchical(near: Near, most: int = ROUNDS) -> Transfers:
    """All-reduce by rings between neighborhoods: one ring for each shard of a neighborhood."""
    rings, ends = min(len(group) for group in near), len(near)
    if ends == 1 or all(len(group) == 1 for group in near):
        return ring(near, most)
    draft = Draft(units=rings * ends)
    shard = {one: at * ends for group in near for at, one in enumerate(group)}
    fed: dict[int, tuple[int, ...]] = {group[at]: () for group in near for at in range(rings)}
    for group in near:
        for one, to in shifted(group, group[:rings]):
            units = shard[to], shard[to] + ends
            own = draft.add(one, to, 1 / rings, units=units, adds=True)
            fed[to] += (own,)
    for at in range(rings):
        order = [group[at] for group in near]
        got = around(
            draft, order, 2 * (ends - 1), 2 * (ends - 1) / ends / rings, fed,
            most=most, first=at * ends,
        )  # fmt: skip
        for head, transfer in got.items():
            fed[head] = (transfer,)
    for group in near:
        for to, one in shifted(group, group[:rings]):
            units = shard[one], shard[one] + ends
            draft.add(one, to, 1 / rings, after=fed[one], out=2, into=2, units=units)
    return draft.done()


def forest(near: Near) -> Transfers:
    """All-reduce by a tree for each member's shard: neighbors first sum what goes far."""
    order = in_order(near)
    draft, share = Draft(units=len(order)), 1 / len(order)
    home = {one: at for at, group in enumerate(near) for one in group}

    def deputy(group: int, shard: int) -> int:
        """Who in a neighborhood stands for the owner of a shard."""
        if home[order[shard]] == group:
            return order[shard]
        return near[group][shard % len(near[group])]

    def up(one: int, to: int, shard: int, after: tuple[int, ...] = ()) -> None:
        own = draft.add(
            one, to, share, after=after, out=shard, into=size + one,
            units=one_unit(shard), adds=True, cut=True,
        )  # fmt: skip
        sums[to, shard] = (*sums.get((to, shard), ()), own)

    def down(head: int, one: int, shard: int, after: tuple[int, ...]) -> None:
        got[one, shard] = draft.add(
            head, one, share, after=after, out=size + one, into=shard,
            units=one_unit(shard), cut=True,
        )  # fmt: skip

    size = len(order)
    place = {one: at for at, one in enumerate(order)}
    pairs = [(one, place[owner]) for one, owner in shifted(order, order)]
    sums: dict[tuple[int, int], tuple[int, ...]] = {}
    got: dict[tuple[int, int], int] = {}
    for one, shard in pairs:
        if (to := deputy(home[one], shard)) != one:
            up(one, to, shard)
    for one, shard in pairs:
        if home[one] != home[order[shard]] and deputy(home[one], shard) == one:
            up(one, order[shard], shard, sums.get((one, shard), ()))
    for one, shard in pairs:
        if deputy(home[one], shard) in {one, order[shard]}:
            down(order[shard], one, shard, sums.get((order[shard], shard), ()))
    for one, shard in pairs:
        if (one, shard) not in got:
            head = deputy(home[one], shard)
            down(head, one, shard, (got[head, shard],))
    return draft.done()


ALL_REDUCE: dict[str, Callable[[Near], Transfers]] = {
    "ring": ring, "tree": tree, "hierarchical": hierarchical, "forest": forest, "ps": ps,
}  # fmt: skip
