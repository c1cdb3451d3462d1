"""Who sends which part of the gradient to whom, for overlays without a closed form.

Written out anew from their definitions, in phases that follow one another; with each the number of
messages one after another.
"""

import math

from paceline.plan.check.facts import Facts

Message = tuple[str, str, float]


def messages(overlay: str, names: list[str], facts: Facts) -> tuple[list[list[Message]], int]:
    """The phases of an overlay among workers on these machines, in order of rank."""
    by_machine = _groups(names, names)
    if overlay == "ps":
        first, *others = names
        push = [(one, first, 1.0) for one in others]
        return [push, [(first, one, 1.0) for one in others]], 2
    if overlay == "tree":
        heads = [group[0] for group in by_machine]
        rounds = 2 * math.ceil(math.log2(max(len(heads), 2)))
        return [_two_trees(heads)], rounds  # inside a machine nothing crosses a link
    groups = by_machine
    if len(groups) == len(names):
        groups = _groups(names, [_switch(name, facts) for name in names])
    if len(groups) == 1 or all(len(group) == 1 for group in groups):
        inside = 2 if any(len(group) > 1 for group in groups) else 0
        return [_ring(names, 1.0)], inside + 2 * (len(groups) - 1)
    rings = min(len(group) for group in groups)
    heads = [(one, group[at]) for group in groups for at in range(rings) for one in group]
    gather = [(one, head, 1 / rings) for one, head in heads if one != head]
    around = [
        message for at in range(rings) for message in _ring([g[at] for g in groups], 1 / rings)
    ]
    spread = [(head, one, share) for one, head, share in gather]
    return [gather, around, spread], 2 + 2 * (len(groups) - 1)


def _groups(names: list[str], keys: list[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for name, key in zip(names, keys, strict=True):
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def _switch(name: str, facts: Facts) -> str:
    """The other end of a machine's only link, else the machine itself."""
    near = list(facts.near[name])
    return near[0] if len(near) == 1 else name


def _ring(names: list[str], part: float) -> list[Message]:
    n = len(names)
    return [(names[at], names[(at + 1) % n], part * 2 * (n - 1) / n) for at in range(n)]


def _two_trees(heads: list[str]) -> list[Message]:
    """Half the gradient up and down each of two trees in which odd positions are leaves."""
    n = len(heads)
    second = heads[::-1] if n % 2 == 0 else heads[1:] + heads[:1]
    found: list[Message] = []
    for order in (heads, second):
        for at in range(1, n):
            step = 1
            while at % (2 * step) == 0:
                step *= 2
            # the even neighbor at this distance that lies higher in the tree, if there is one
            above = at + step if (at // step) % 4 == 1 else at - step
            if not 0 < above < n:
                above = at - step
            found += [(order[at], order[above], 0.5), (order[above], order[at], 0.5)]
    return found
