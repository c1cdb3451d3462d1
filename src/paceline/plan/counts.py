"""What a subtree may hold, and the best workers that fit: dynamic programs over counts. Compiled.

For a number of workers n and a time t the law of an overlay says how many workers k may lie below
a link: none, all, or between `low` and `high`. Where every count fits, the link is open and its
subtree's workers join those above; where few do, the subtree keeps a table of its own, best value
by count, and tables are combined by (max, +) or (min, max). A range of n gives a relaxation.
"""

import numpy as np

from paceline.model import F64, I32, I64
from paceline.plan.compiled import compiled

FOREST, RING, CUT = 0, 1, 2
SHUT, OPEN, NARROW = 0, 1, 2
EQUAL, SPEED = 0, 1


@compiled
def bounded(  # noqa: PLR0917 - compiled functions take no keywords
    top: int, last: int, shape: int, fewest: int, most: int, t: float, weight: float,
    slow: F64, own: I32, parent: I32, low: I32, high: I32, reach: I64, state: I32,
) -> int:  # fmt: skip
    """Fills in what each link of a subtree lets through within time t; returns how many fit.

    forest: weight * slow * max(k, n - k) / n <= t. ring: weight * slow * (n - 1) / n <= t. cut:
    weight * slow <= t. Of a range of n the widest bounds are taken.
    """
    for at in range(top, last):
        reach[at] = own[at]
    for at in range(last - 1, top, -1):
        cost = weight * slow[at]
        part = t / cost * (1 + 1e-12) if cost > 0 else 2.0
        state[at] = SHUT
        if shape == FOREST:
            low[at] = max(1, fewest - int(fewest * part + 1e-9)) if part < 1 else 1
            high[at] = min(most, int(most * part + 1e-9)) if part < 1 else most
            if part < 0.5 - 1e-9:
                high[at] = 0
        else:
            low[at], high[at] = 1, most
            scale = (fewest - 1) / fewest if shape == RING else 1.0
            if part < scale:
                high[at] = 0
        inside = min(reach[at], high[at])
        if inside >= low[at]:
            state[at] = OPEN if low[at] <= 1 and high[at] >= min(reach[at], most) else NARROW
            reach[parent[at]] += inside
    return reach[top]


@compiled
def anchored(  # noqa: PLR0917
    top: int, last: int, most: int, unit: I32, high: I32, state: I32, parent: I32, anchor: I32,
    room: I64,
) -> float:  # fmt: skip
    """Fills in the table that each place's workers belong to, and its length; returns the work."""
    anchor[top], room[top] = top, 0
    for at in range(top + 1, last):
        above = anchor[parent[at]]
        anchor[at] = above if state[at] == OPEN else at
        if state[at] == SHUT or above < 0:
            anchor[at] = -1
        room[at] = 0
    for place in unit:
        if anchor[place] >= 0:
            room[anchor[place]] += 1
    work = 0.0
    for at in range(last - 1, top, -1):
        if anchor[at] == at:
            room[at] = min(room[at], most)
            inside = min(room[at], high[at])
            above = anchor[parent[at]]
            work += inside * (min(most, room[above] + inside) + 1.0)
            room[above] += inside
    room[top] = min(room[top], most)
    return work


@compiled
def tabled(  # noqa: PLR0917, PLR0912 - one loop, see the module
    top: int, last: int, most: int, law: int, unit: I32, cost: F64, low: I32, high: I32,
    parent: I32, anchor: I32, room: I64, pick_from: I64,
) -> tuple[F64, I32]:  # fmt: skip
    """The best value of each count in the subtree of `top`, and the picks that lead to it.

    Law EQUAL: the longest time, least. Law SPEED: minus the sum of speeds, least. `unit` and
    `cost` are the workers that could be, best first.
    """
    start = np.zeros(last - top + 1, dtype=np.int64)
    picks = 0
    for at in range(top, last):
        start[at - top + 1] = start[at - top]
        if anchor[at] == at:
            start[at - top + 1] += min(room[at], most) + 1
    table = np.full(start[-1], np.inf)
    filled = np.zeros(last - top, dtype=np.int64)
    for at in range(top, last):
        if anchor[at] == at:
            table[start[at - top]] = 0.0
    for spot in range(len(unit)):
        own = anchor[unit[spot]]
        if own >= 0 and filled[own - top] < min(room[own], most):
            base = start[own - top] + filled[own - top]
            filled[own - top] += 1
            table[base + 1] = cost[spot] if law == EQUAL else table[base] - cost[spot]
    for at in range(last - 1, top, -1):
        pick_from[at] = -1
        if anchor[at] == at:
            picks += min(room[anchor[parent[at]]], most) + 1
    pick = np.zeros(picks, dtype=np.int32)
    picks = 0
    for at in range(last - 1, top, -1):
        if anchor[at] != at:
            continue
        above = anchor[parent[at]]
        base, child = start[above - top], start[at - top]
        old, inside = filled[above - top], min(filled[at - top], high[at])
        new = min(most, old + inside)
        pick_from[at] = picks
        for count in range(new, 0, -1):
            best = table[base + count] if count <= old else np.inf
            chosen = 0
            for k in range(max(low[at], count - old), min(inside, count) + 1):
                one, two = table[base + count - k], table[child + k]
                both = max(one, two) if law == EQUAL else one + two
                if both < best:
                    best, chosen = both, k
            table[base + count] = best
            pick[picks + count] = chosen
        filled[above - top] = new
        picks += new + 1
    return table[start[0] : start[0] + filled[0] + 1].copy(), pick


@compiled
def picked(  # noqa: PLR0917
    top: int, last: int, count: int, unit: I32, parent: I32, anchor: I32, pick_from: I64,
    pick: I32, need: I64, out: I32,
) -> int:  # fmt: skip
    """Fills in which workers the picks lead to for a count; returns how many those are."""
    for at in range(top, last):
        need[at] = 0
    need[top] = count
    for at in range(top + 1, last):
        if anchor[at] == at:
            above = anchor[parent[at]]
            need[at] = pick[pick_from[at] + need[above]]
            need[above] -= need[at]
    found = 0
    for spot in range(len(unit)):
        own = anchor[unit[spot]]
        if own >= 0 and need[own] > 0:
            need[own] -= 1
            out[found] = spot
            found += 1
    return found


@compiled
def capped(  # noqa: PLR0917
    top: int, last: int, most: int, unit: I32, high: I32, state: I32, parent: I32, used: I64,
    out: I32,
) -> int:  # fmt: skip
    """Fills in the best workers, best first, if links had upper bounds only: a relaxation.

    Counts under nested upper bounds form a matroid, so the first n of these are best for every n.
    """
    for at in range(top, last):
        used[at] = 0
    found = 0
    for spot in range(len(unit)):
        at, free = unit[spot], True
        while at != top:
            if state[at] == SHUT or used[at] >= high[at]:
                free = False
                break
            at = parent[at]
        if not free:
            continue
        at = unit[spot]
        while at != top:
            used[at] += 1
            at = parent[at]
        out[found] = spot
        found += 1
        if found == most:
            break
    return found


@compiled
def measured(  # noqa: PLR0917
    top: int, last: int, shape: int, weight: float, place: I32, slow: F64, latency: F64,
    parent: I32, below: I64, deep: F64,
) -> tuple[float, float, int]:  # fmt: skip
    """The communication time of these workers, their longest way and the busiest link's place."""
    n = len(place)
    for at in range(top, last):
        below[at], deep[at] = 0, -1.0
    for at in place:
        below[at] += 1
        deep[at] = 0.0
    longest, apart, busiest = 0.0, 0.0, -1
    for at in range(last - 1, top, -1):
        k = below[at]
        if k == 0:
            continue
        above = parent[at]
        below[above] += k
        far = deep[at] + latency[at]
        if k < n:
            if deep[above] >= 0:
                apart = max(apart, deep[above] + far)
            part = max(k, n - k) / n if shape == FOREST else (n - 1) / n if shape == RING else 1.0
            if weight * slow[at] * part > longest:
                longest, busiest = weight * slow[at] * part, at
        deep[above] = max(deep[above], far)
    return longest, apart, busiest
