"""Which link to take from each place to each other one.

As in `simulate`: the way of least latency, among those the one of fewest links, and among equal
ones the receiver's place decides, so that equal spines are all used and one pair takes one way.
"""

import heapq
from collections.abc import Sequence


def ways(places: int, links: Sequence[tuple[int, int, int]]) -> tuple[tuple[int | None, ...], ...]:
    """For each place, the number of the first link towards each other place; None if none leads."""
    beside: list[list[tuple[int, int, int]]] = [[] for _ in range(places)]
    for number, (a, b, latency_ns) in enumerate(links):
        weight = latency_ns * (places + 1) + 1
        beside[a].append((number, b, weight))
        beside[b].append((number, a, weight))
    rows: list[list[int | None]] = [[None] * places for _ in range(places)]
    for target in range(places):
        far = _distances(target, beside)
        for at in range(places):
            if at != target and at in far:
                good = [n for n, other, weight in beside[at] if far.get(other) == far[at] - weight]
                rows[at][target] = good[target % len(good)]
    return tuple(tuple(row) for row in rows)


def _distances(target: int, beside: list[list[tuple[int, int, int]]]) -> dict[int, int]:
    far: dict[int, int] = {}
    heap = [(0, target)]
    while heap:
        distance, at = heapq.heappop(heap)
        if at in far:
            continue
        far[at] = distance
        for _, other, weight in beside[at]:
            if other not in far:
                heapq.heappush(heap, (distance + weight, other))
    return far
