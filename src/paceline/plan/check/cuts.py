"""Communication on a network with cycles, from the definition: every cut, or flows for many places.

Each all-reduce takes (2 S / n) max over cuts of (workers inside) / (rate across), in the slower
direction; machines without workers pass nothing on.
"""

import itertools

import numpy as np

from paceline.plan.check.facts import Facts, outward, wrong

FEW = 12  # places whose cuts are all listed
_WHOLE = 2**30  # what arrives, in whole numbers


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
    at = {place: spot for spot, place in enumerate(near)}
    ways = [(at[a], at[b], rate[a, b], rate[b, a]) for a in near for b in near[a]]
    held = {at[name]: count for name, count in counts.items()}
    found = 0.0
    for there in (True, False):
        arcs = [(a, b, out if there else back) for a, b, out, back in ways]
        low = max(
            count / max(sum(r for a, _, r in arcs if a == spot), 1e-300)
            for spot, count in held.items()
        )
        high = low
        while not _fits(high, held, arcs, len(near)):
            low, high = high, 2 * high
            if high > 1e6:
                raise wrong("no links join its machines")
        while high > low * (1 + 1e-7):
            middle = (low + high) / 2
            fits = _fits(middle, held, arcs, len(near))
            low, high = (low, middle) if fits else (middle, high)
        found = max(found, high)
    return found


def _fits(pace: float, held: dict[int, int], arcs: list[tuple[int, int, float]], size: int) -> bool:
    """True if what all workers send reaches each of their places; in whole numbers."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    wanted = sum(held.values())
    scale = _WHOLE / wanted
    rows = [a for a, _, _ in arcs] + [size] * len(held)
    columns = [b for _, b, _ in arcs] + list(held)
    parts = [min(wanted, r * pace) for _, _, r in arcs] + list(held.values())
    values = np.array([int(part * scale) for part in parts], dtype=np.int32)
    matrix = csr_array((values, (rows, columns)), shape=(size + 1, size + 1))
    enough = _WHOLE * (1 - 1e-6)
    return all(maximum_flow(matrix, size, sink).flow_value >= enough for sink in held)


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
