"""What each overlay loads on links, and which orders of ranks it is given.

Ring and forest have closed forms and are searched exactly. Tree, hierarchical and parameter server
send what the tables of `reduce` say, message by message over the links; phases that follow one
another (all push, then all pull) add up. Ranks follow the network, branch by branch.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from paceline.model import F64, I32, InputError
from paceline.plan.compiled import compiled
from paceline.plan.tree import Tree
from paceline.reduce import ALL_REDUCE, Near

SEARCHED = ("forest", "ring")
TRIED = ("tree", "hierarchical", "ps")
OVERLAYS = (*SEARCHED, *TRIED)
LARGEST = 2048  # workers for which tables are walked


class Carried(NamedTuple):
    """An overlay carried out: the time of its busiest links, its messages one after another."""

    communication_s: float
    rounds: int


def known_overlay(name: str) -> str:
    """The name, if it is one of an overlay or `any`."""
    if name not in (*OVERLAYS, "any"):
        raise InputError(
            f"{name!r} is not an overlay.", expected=f"It is {', '.join(OVERLAYS)} or any."
        )
    return name


def near(places: I32, above: I32) -> Near:
    """Ranks by neighborhood: one machine, or the machines of one switch if each has one worker."""
    by_machine = _grouped(places)
    return _grouped(above) if len(by_machine) == len(places) else by_machine


def _grouped(keys: I32) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for rank, key in enumerate(keys.tolist()):
        groups.setdefault(key, []).append(rank)
    return list(groups.values())


def algorithm_groups(overlay: str, places: I32, tree: Tree) -> Near:
    """Ranks by neighborhood, as the simulator groups them for an algorithm."""
    wide = overlay in {"hierarchical", "forest"}
    return near(places, _switch(places, tree)) if wide else _grouped(places)


def _switch(places: I32, tree: Tree) -> I32:
    """The other end of each machine's only link, else the machine itself."""
    leaf = (tree.end[places] == places + 1) & (places > 0)
    return np.where(leaf, tree.parent[places], places).astype(np.int32)


def in_order(overlay: str, places: I32, tree: Tree) -> I32:
    """The places of ranks 0, 1, ...: along the tree; a server comes first, on the fastest link."""
    ranks = np.sort(places)
    if overlay != "ps":
        return ranks
    server = int(np.argmin(tree.slow_s[ranks]))
    return np.concatenate([ranks[server : server + 1], np.delete(ranks, server)])


@compiled
def _walked(  # noqa: PLR0917 - compiled functions take no keywords
    source: I32, target: I32, share: F64, parent: I32, up: F64, down: F64
) -> None:
    for row in range(len(source)):
        one, other = source[row], target[row]
        while one != other:
            if one > other:  # of two places the one numbered higher is never above the other
                up[one] += share[row]
                one = parent[one]
            else:
                down[other] += share[row]
                other = parent[other]


def carried(overlay: str, places: I32, tree: Tree, gradient_bytes: float) -> Carried:
    """What an overlay of `TRIED` takes on workers at these places, in order of rank."""
    n = len(places)
    if n == 1:
        return Carried(0.0, 0)
    groups = algorithm_groups(overlay, places, tree)
    transfers = ALL_REDUCE[overlay](groups)
    phases = _phases(overlay, groups, len(transfers.source))
    total = 0.0
    for start, stop in pairwise(phases):
        up, down = np.zeros((2, len(tree)))
        own = slice(start, stop)
        _walked(
            places[transfers.source[own]], places[transfers.target[own]], transfers.share[own],
            tree.parent, up, down,
        )  # fmt: skip
        total += float((np.maximum(up, down) * tree.slow_s).max()) * gradient_bytes
    return Carried(total, _rounds(overlay, groups))


def _phases(overlay: str, groups: Near, count: int) -> list[int]:
    """Where the phases of an algorithm begin in its table, and its end."""
    if overlay == "ps":
        return [0, count // 2, count]
    if overlay == "hierarchical" and len(groups) > 1 and any(len(one) > 1 for one in groups):
        rings = min(len(one) for one in groups)
        inside = sum(rings * (len(one) - 1) for one in groups)
        return [0, inside, count - inside, count]
    return [0, count]


def _rounds(overlay: str, groups: Near) -> int:
    if overlay == "ps":
        return 2
    if overlay == "tree":
        return 2 * int(np.ceil(np.log2(max(len(groups), 2))))
    inside = 2 if any(len(one) > 1 for one in groups) else 0
    return inside + 2 * (len(groups) - 1)
