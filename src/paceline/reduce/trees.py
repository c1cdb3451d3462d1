"""All-reduce along trees: sums go up, streamed, and what the root has goes down again.

`tree` is the double binary tree of Sanders, Speck and Träff 2009: two trees with half the buffer
each, and who passes on in one is a leaf of the other. `along` follows any tree, such as a plan's
overlay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paceline.model import ModelError
from paceline.reduce.transfers import Draft, Transfers
from paceline.reduce.turns import Near, one_unit


def tree(near: Near) -> Transfers:
    """All-reduce up and down two binary trees; who passes on in one is a leaf of the other.

    Trees join machines; a machine's other members hand their buffer to the first of them.
    """
    draft, heads = Draft(units=2), [group[0] for group in near]
    gathered = {
        group[0]: tuple(
            draft.add(one, group[0], 1.0, into=6 + at, units=(0, 2), adds=True)
            for at, one in enumerate(group[1:])
        )
        for group in near
    }
    last: dict[int, tuple[int, ...]] = {head: gathered[head] for head in heads}
    for half in (0, 1) if len(heads) > 1 else ():
        order = (
            heads if half == 0 else heads[::-1] if len(heads) % 2 == 0 else heads[1:] + heads[:1]
        )
        for head, got in _up_and_down(draft, order, gathered, half).items():
            last[head] += got
    for group in near:
        for at, one in enumerate(group[1:]):
            draft.add(group[0], one, 1.0, after=last[group[0]], out=6 + at, units=(0, 2))
    return draft.done()


def _up_and_down(
    draft: Draft, order: Sequence[int], gathered: dict[int, tuple[int, ...]], half: int
) -> dict[int, tuple[int, ...]]:
    """Half the buffer up a binary tree and down again; by member what completed it there."""
    size = len(order)
    above = [_parent(at, size) for at in range(size)]
    leaves_first = sorted(range(1, size), key=lambda at: (at & -at, at))
    own = _Tree(order=order, above=above, leaves_first=leaves_first, share=0.5)
    return own.travelled(draft, gathered, slot=3 * half, units=one_unit(half))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """Members by position, above whom each hangs, and an order in which those below come first."""

    order: Sequence[int]
    above: Sequence[int]
    leaves_first: Sequence[int]
    share: float

    def travelled(
        self,
        draft: Draft,
        gathered: Mapping[int, tuple[int, ...]],
        *,
        slot: int,
        units: tuple[int, int],
    ) -> dict[int, tuple[int, ...]]:
        """The units up the tree and down again; by member the transfers that completed them."""
        order, above = self.order, self.above
        below: list[list[int]] = [[] for _ in order]
        for at in sorted(self.leaves_first):
            below[above[at]].append(at)
        widest = max(2, *(len(some) for some in below)) if below else 2
        upward = [0] * len(order)
        for at in self.leaves_first:
            fed = tuple(upward[child] for child in below[at])
            upward[at] = draft.add(
                order[at], order[above[at]], self.share, after=gathered[order[at]] + fed,
                out=slot, into=slot + below[above[at]].index(at), streamed=True,
                units=units, adds=True,
            )  # fmt: skip
        (root,) = set(range(len(order))) - set(self.leaves_first)
        got = {root: gathered[order[root]] + tuple(upward[child] for child in below[root])}
        for at in reversed(self.leaves_first):
            parent = above[at]
            down = draft.add(
                order[parent], order[at], self.share, after=got[parent],
                out=slot + 1 + below[parent].index(at), into=slot + widest, streamed=True,
                units=units,
            )  # fmt: skip
            got[at] = (down,)
        return {order[at]: transfers for at, transfers in got.items()}


def along(parents: Sequence[int]) -> Transfers:
    """All-reduce along a tree: `parents` says above whom each member hangs, the root above itself.

    Raises ModelError for what is no tree.
    """
    count = len(parents)
    roots = [at for at, parent in enumerate(parents) if parent == at]
    if len(roots) != 1 or not all(0 <= parent < count for parent in parents):
        raise ModelError(
            f"{list(parents)} is no tree of {count} workers.",
            expected="Every worker but one hangs below another, and that one below itself.",
        )
    depth = {roots[0]: 0}
    for at in range(count):
        path = [at]
        while path[-1] not in depth and len(path) <= count:
            path.append(parents[path[-1]])
        if path[-1] not in depth:
            raise ModelError(
                f"{list(parents)} is no tree: worker {at} hangs below itself.",
                expected="From every worker the way up leads to the root.",
            )
        for below in reversed(path[:-1]):
            depth[below] = depth[parents[below]] + 1
    deepest_first = sorted((at for at in range(count) if depth[at]), key=lambda at: -depth[at])
    draft = Draft()
    own = _Tree(order=range(count), above=parents, leaves_first=deepest_first, share=1.0)
    own.travelled(draft, dict.fromkeys(range(count), ()), slot=0, units=(0, 1))
    return draft.done()


def _parent(at: int, size: int) -> int:
    """Above whom a member hangs in a binary tree whose odd members are leaves and 0 is the root."""
    lowest = at & -at
    above = (at ^ lowest) | (lowest << 1)
    return above if 0 < above < size else at ^ lowest
