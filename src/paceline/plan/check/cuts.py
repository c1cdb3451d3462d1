"""Communication on a network with cycles, from the definition: every cut, or flows for many places.

Each all-reduce takes (2 S / n) max over cuts of (workers inside) / (rate across), in the slower
direction; machines without workers pass nothing on.
"""

import itertools
from collections import deque

from paceline.plan.check.facts import Facts, outward, wrong

FEW = 12  # places whose cuts are all listed


def by_cuts(counts: dict[str, int], facts: Facts, size: float) -> float:
    """Seconds of one all-reduce, with its latency."""
    kept = [place for place in facts.near if place in counts or place not in facts.machines]
    rate: dict[tuple[str, str], float] = {}
    for link in facts.cluster.links:
        part = 1 - (link.loss or 0.0)
        rate[link.a, link.b] = (link.bytes_per_s or 0.0) * part
        rate[link.b, link.a] = (link.back_bytes_per_s or link.bytes_per_s or 0.0) * part
    n = sum(counts.values())
    if len(counts) == 1:
        return 0.0
    near = {a: [b for b in kept if (a, b) in rate] for a in kept}
    worst = _listed if len(kept) <= FEW else _flowing
    slowest = worst(counts, near, rate)
    if slowest <= 0:
        raise wrong("no links join its machines")
    return 2 * size / n * slowest + 4 * _apart(counts, facts)


def _listed(
    counts: dict[str, int], near: dict[str, list[str]], rate: dict[tuple[str, str], float]
) -> float:
    """The worst ratio over every set of places that holds some of the workers."""
    n, found = sum(counts.values()), 0.0
    for chosen in itertools.product((False, True), repeat=len(near)):
        inside = {place for place, one in zip(near, chosen, strict=True) if one}
        held = sum(count for name, count in counts.items() if name in inside)
        if 0 < held < n:
            ways = [(a, b) for a in inside for b in near[a] if b not in inside]
            across = min(sum(rate[a, b] for a, b in ways), sum(rate[b, a] for a, b in ways))
            if across <= 0:
                raise wrong("no links join its machines")
            found = max(found, held / across)
    return found


def _flowing(
    counts: dict[str, int], near: dict[str, list[str]], rate: dict[tuple[str, str], float]
) -> float:
    """The same by bisection: every worker's place must get what all others send at this pace."""
    backward = {(b, a): r for (a, b), r in rate.items()}
    found = 0.0
    for ways in (rate, backward):
        low = max(
            count / max(sum(ways[name, b] for b in near[name]), 1e-300)
            for name, count in counts.items()
        )
        high = low
        while not _fits(high, counts, near, ways):
            low, high = high, 2 * high
            if high > 1e6:
                raise wrong("no links join its machines")
        while high > low * (1 + 1e-8):
            middle = (low + high) / 2
            low, high = (low, middle) if _fits(middle, counts, near, ways) else (middle, high)
        found = max(found, high)
    return found


def _fits(
    pace: float, counts: dict[str, int], near: dict[str, list[str]],
    rate: dict[tuple[str, str], float],
) -> bool:  # fmt: skip
    wanted = sum(counts.values()) / pace
    return all(_flow(counts, near, rate, pace, sink) >= wanted * (1 - 1e-10) for sink in counts)


def _flow(
    counts: dict[str, int], near: dict[str, list[str]], rate: dict[tuple[str, str], float],
    pace: float, sink: str,
) -> float:  # fmt: skip
    """The maximum flow from all workers to one place, by shortest augmenting ways."""
    left = {(a, b): rate[a, b] for a in near for b in near[a]}
    left |= {("", name): count / pace for name, count in counts.items()}
    left |= {(name, ""): 0.0 for name in counts}
    out = {a: list(others) for a, others in near.items()} | {"": list(counts)}
    least, total = 1e-13 * max(left.values()), 0.0
    while True:
        before, todo = {"": ""}, deque([""])
        while todo and sink not in before:
            at = todo.popleft()
            for to in out[at]:
                if to not in before and left[at, to] > least:
                    before[to] = at
                    todo.append(to)
        if sink not in before:
            return total
        way: list[tuple[str, str]] = []
        at = sink
        while at:
            way.append((before[at], at))
            at = before[at]
        room = min(left[step] for step in way)
        for a, b in way:
            left[a, b] -= room
            left[b, a] = left.get((b, a), 0.0) + room
        total += room


def _apart(counts: dict[str, int], facts: Facts) -> float:
    """The longest of the shortest ways between two machines with workers, one way."""
    longest = 0.0
    for start in counts:
        known = {place: float("inf") for place, _ in outward(facts, start)}
        known[start], todo = 0.0, [start]
        while todo:
            at = min(todo, key=known.__getitem__)
            todo.remove(at)
            for to, link in facts.near[at].items():
                far = known[at] + (link.latency_ns or 0) / 1e9
                if far < known[to]:
                    known[to] = far
                    todo.append(to)
        longest = max(longest, *(known[name] for name in counts))
    return longest
