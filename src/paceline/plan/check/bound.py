"""Proves the lower bound of a plan anew: no number of workers on any machines can beat it.

For each n, the compute times that could be (law equal) or the times of communication in halves (law
speed) are gone through, and counts that fit below each link are collected from the leaves: as bits
of a whole number, or as a table of the best sums of speeds. Only ring and forest have such a bound.
"""

from collections.abc import Callable
from typing import NamedTuple

from paceline.model import Plan
from paceline.plan.check.claims import step, steps
from paceline.plan.check.facts import Facts, free, outward, slow_s, step_s, wrong

_LEAST = 1 - 1e-6
Window = Callable[[str, str, int], tuple[int, int]]


def prove(plan: Plan, facts: Facts, overlay: str, avoid: set[str]) -> None:
    """Returns if no workers with this overlay take less than the claimed bound."""
    made = plan.certificate
    if made is None or overlay not in {"ring", "forest"}:
        return
    if facts.spreads and plan.law == "equal":
        return  # the slowest of several spreads is no program over counts
    slots = {
        name: free(machine)
        for name, machine in facts.machines.items()
        if free(machine) > 0 and name not in avoid
    }
    times = {name: step_s(facts, name) for name in slots}
    way = outward(facts, next(iter(facts.machines)))
    apart = _longest_s(facts, way, slots)
    goal, most = facts.goal, sum(slots.values())
    for n in range(goal.min_workers or 1, min(goal.max_workers or most, most) + 1):
        wanted = made.lower_bound_s * _LEAST / steps(facts, n)
        rounds = 0 if n == 1 else 4 if overlay == "forest" else 2 * (n - 1)
        ask = _Ask(facts, way, slots, times, overlay, n, wanted, rounds * apart)
        if (_equal if plan.law == "equal" else _speed)(ask):
            raise wrong(f"{n} workers can take less than its lower bound")


class _Ask(NamedTuple):
    """Can n workers step in less than `wanted`, though all were as far apart as any two are?"""

    facts: Facts
    way: list[tuple[str, str]]
    slots: dict[str, int]
    times: dict[str, float]
    overlay: str
    n: int
    wanted: float
    latency_s: float


def _longest_s(facts: Facts, way: list[tuple[str, str]], slots: dict[str, int]) -> float:
    """The longest way between two machines with free slots, one way."""
    deep, longest = dict.fromkeys(slots, 0.0), 0.0
    for place, parent in reversed(way):
        if parent and place in deep:
            far = deep[place] + (facts.near[place][parent].latency_ns or 0) / 1e9
            longest = max(longest, far + deep.get(parent, -far))
            deep[parent] = max(deep.get(parent, 0.0), far)
    return longest


def _equal(ask: _Ask) -> bool:
    """With equal shares: by every time that the slowest machine could take."""
    for limit in sorted({ask.times[name] for name in ask.slots}):
        left = _communication(ask.facts, limit, ask.wanted) - ask.latency_s
        if limit >= ask.wanted or (left <= 0 and ask.n > 1):
            return False
        allowed = {name: count for name, count in ask.slots.items() if ask.times[name] <= limit}
        if sum(allowed.values()) >= ask.n:
            window = _window(ask.facts, ask.overlay, ask.n, left)
            if _counts_fit(ask.way, allowed, ask.n, window):
                return True
    return False


def _speed(ask: _Ask) -> bool:
    """With shares by speed: by halves of the time that links may take."""
    n, wanted = ask.n, ask.wanted
    todo = [(0.0, wanted)]
    while todo:
        low, high = todo.pop()
        window = _window(ask.facts, ask.overlay, n, high)
        speed = _best_speed(ask.way, ask.slots, ask.times, n, window)
        if speed <= 0 or step(ask.facts, n / speed, low + ask.latency_s) >= wanted:
            continue
        if step(ask.facts, n / speed, high + ask.latency_s) < wanted or high - low < 1e-9 * wanted:
            return True
        todo += [(low, (low + high) / 2), ((low + high) / 2, high)]
    return False


def _communication(facts: Facts, compute: float, wanted: float) -> float:
    """The most communication with which a step stays below `wanted`."""
    shown = 1 - (facts.job.overlap or 0.0)
    return wanted if shown == 0 else min(wanted, (wanted - compute) / shown)


def _window(facts: Facts, overlay: str, n: int, t: float) -> Window:
    """How many workers may be below a link, from and to; an empty range: none or all."""
    size = float(facts.job.gradient_bytes or 0)

    def window(place: str, parent: str, n: int = n) -> tuple[int, int]:
        cost = 2 * size * slow_s(facts.near[place][parent]) / n
        if overlay == "ring":
            return (1, n - 1) if cost * (n - 1) < t else (1, 0)
        most = n - 1
        if cost * most >= t:
            most = int(t / cost)
            most -= cost * most >= t
        return n - most, most

    return window


def _counts_fit(
    way: list[tuple[str, str]], allowed: dict[str, int], n: int, window: Window
) -> bool:
    """True if n workers fit; bit k of a place's number: k may be at or below it."""
    bits = {place: (2 << allowed.get(place, 0)) - 1 for place, _ in way}
    mask = (2 << n) - 1
    for place, parent in reversed(way):
        own = bits[place] & mask
        if own >> n & 1:
            return True
        if not parent:
            continue
        low, high = window(place, parent, n)
        kept = own & (((1 << (high - low + 1)) - 1) << low) if high >= low else 0
        kept |= 1
        total, k = 0, 0
        while kept >> k:
            if kept >> k & 1:
                total |= bits[parent] << k
            k += 1
        bits[parent] = total & mask
    return False


def _best_speed(
    way: list[tuple[str, str]], slots: dict[str, int], times: dict[str, float], n: int,
    window: Window,
) -> float:  # fmt: skip
    """The largest sum of speeds of n workers that fit, 0 where none do."""
    none, best = float("-inf"), 0.0
    tables = {
        place: [k / times[place] for k in range(min(slots[place], n) + 1)]
        if place in slots
        else [0.0]
        for place, _ in way
    }
    for place, parent in reversed(way):
        own = tables[place]
        if len(own) > n:
            best = max(best, own[n])
        if not parent:
            continue
        low, high = window(place, parent, n)
        kept = [
            value if k == 0 or low <= k <= high else none for k, value in enumerate(own[: high + 1])
        ] or [0.0]
        table = tables[parent]
        joined = [none] * min(n + 1, len(table) + len(kept) - 1)
        for k, value in enumerate(kept):
            if value > none:
                for j in range(min(len(table), len(joined) - k)):
                    joined[j + k] = max(joined[j + k], table[j] + value)
        tables[parent] = joined
    return best
