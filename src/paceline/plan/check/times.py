"""What a step of a plan takes: compute by its law, communication by its overlay."""

import itertools
import math
from collections.abc import Iterable

from paceline.model import Plan
from paceline.plan.check.cuts import by_cuts
from paceline.plan.check.facts import Facts, counts_of, outward, slow_s, step_s, wrong
from paceline.plan.check.messages import Message, messages


def compute_s(plan: Plan, facts: Facts) -> float:
    """What the workers compute in a step: the (expected) slowest, or by the sum of speeds."""
    names = [worker.machine for worker in plan.workers]
    if plan.law == "speed":
        return len(names) / math.fsum(1 / step_s(facts, name) for name in names)
    if not facts.spreads:
        return max(step_s(facts, name) for name in names)
    lone = next(iter(facts.spreads.values())) if len(facts.job.step_time_ns) == 1 else None
    drawn: dict[tuple[float, ...], int] = {}
    for name in names:
        mean, spread = step_s(facts, name), facts.spreads.get(facts.machines[name].kind or "", lone)
        row = (mean,) * 11
        if spread is not None:
            levels = spread.deciles_ns
            middle = sum(a + b for a, b in itertools.pairwise(levels)) / 20
            row = tuple(mean * level / middle for level in levels)
        drawn[row] = drawn.get(row, 0) + 1
    return _expected_max(drawn)


def _expected_max(drawn: dict[tuple[float, ...], int]) -> float:
    """The mean of the slowest, by Simpson's rule over pieces that shrink toward ends of cells."""
    if sum(drawn.values()) == 1:
        (row,) = drawn
        return sum(a + b for a, b in itertools.pairwise(row)) / 20
    floor = max(row[0] for row in drawn)
    edges = sorted({level for row in drawn for level in row if level > floor} | {floor})

    def late(u: float) -> float:
        log = 0.0
        for row, count in drawn.items():
            share = _reached(row, u)
            if share <= 0:
                return 1.0
            log += count * math.log(share)
        return -math.expm1(log)

    total = floor
    for start, stop in itertools.pairwise(edges):
        width = stop - start
        cuts = [stop - width * 0.75**step for step in range(96)] + [stop]
        for a, b in itertools.pairwise(cuts):
            inner = a + (b - a) * 1e-9  # a distribution may jump at the start of a cell
            total += (b - a) / 6 * (late(inner) + 4 * late((a + b) / 2) + late(b - (inner - a)))
    return total


def _reached(row: tuple[float, ...], u: float) -> float:
    """The part of a piecewise linear distribution up to u."""
    if u >= row[-1]:
        return 1.0
    at = max((spot for spot in range(10) if row[spot] <= u), default=-1)
    return 0.0 if at < 0 else (at + (u - row[at]) / (row[at + 1] - row[at])) / 10


def communication_s(plan: Plan, facts: Facts, overlay: str) -> float:
    """The busiest link of the overlay, and its latency."""
    counts, n = counts_of(plan), len(plan.workers)
    size = float(facts.job.gradient_bytes or 0)
    if len(counts) == 1:
        return 0.0
    way = outward(facts, plan.workers[0].machine)
    if not set(counts) <= {place for place, _ in way}:
        raise wrong("no links join its machines")
    if not facts.is_tree:
        return by_cuts(counts, facts, size)
    above = dict(way)
    below, deep, apart, longest = dict.fromkeys(above, 0), dict[str, float](), 0.0, 0.0
    for name, count in counts.items():
        below[name], deep[name] = count, 0.0
    for place, parent in reversed(way[1:]):
        k = below[place]
        if not k:
            continue
        link = facts.near[place][parent]
        below[parent] += k
        far = deep[place] + (link.latency_ns or 0) / 1e9
        apart = max(apart, deep.get(parent, -math.inf) + far)
        deep[parent] = max(deep.get(parent, 0.0), far)
        part = max(k, n - k) if overlay == "forest" else n - 1
        longest = max(longest, 2 * size * part / n * slow_s(link))
    if overlay == "forest":
        return longest + 4 * apart
    if overlay == "ring":
        return longest + 2 * (n - 1) * apart
    phases, rounds = messages(overlay, [w.machine for w in plan.workers], facts)
    return size * sum(_busiest(phase, above, facts) for phase in phases) + rounds * apart


def _busiest(phase: Iterable[Message], above: dict[str, str], facts: Facts) -> float:
    """Seconds a byte of gradient over the busiest link and direction."""
    load: dict[tuple[str, str], float] = {}
    for source, target, share in phase:
        up = [source]
        while above[up[-1]]:
            up.append(above[up[-1]])
        down = [target]
        while down[-1] not in up:
            down.append(above[down[-1]])
        way = up[: up.index(down[-1]) + 1] + down[-2::-1]
        for a, b in itertools.pairwise(way):
            load[a, b] = load.get((a, b), 0.0) + share
    return max((part * slow_s(facts.near[a][b]) for (a, b), part in load.items()), default=0.0)
