"""What simple rules reach on a network with cycles, each tuned over the number of workers.

The same rules as on trees; packing means: from each start, the machine with the most rate to those
already taken comes next.
"""

from collections.abc import Callable

import numpy as np

from paceline.model import I64, Baseline
from paceline.plan.baselines import EXPERT, fastest_kind, numbers
from paceline.plan.case import Case
from paceline.plan.graphs import Graph

_DRAWS = 10
_STARTS = 12


def graph_baselines(case: Case, n_planned: int, seed: int = 0) -> tuple[Baseline, ...]:
    """Every rule with its best number of workers; rules that fail are left out."""
    graph, free = Graph(case), case.free.astype(np.int64)
    slots = np.repeat(np.arange(len(free)), free)
    draw = np.random.default_rng(seed)
    drawn = [
        _counts(draw.choice(slots, n_planned, replace=False), len(free)) for _ in range(_DRAWS)
    ]
    mean = float(np.mean([graph.total(counts) for counts in drawn]))
    found = [Baseline(name="random", n=n_planned, total_time_s=mean)] if np.isfinite(mean) else []
    every = _counts(slots[np.argsort(case.step_s[slots], kind="stable")][: case.most], len(free))
    by_speed = np.argsort(case.step_s, kind="stable")
    own = fastest_kind(case) & (free > 0)
    rules: dict[str, list[I64]] = {
        "fastest n": [by_speed],
        "pack by topology": _packed(graph, free > 0),
        EXPERT: _packed(graph, own),
    }
    if np.isfinite(graph.total(every)):
        total = graph.total(every)
        found.append(Baseline(name="all machines", n=int(every.sum()), total_time_s=total))
    for name, orders in rules.items():
        best = _tuned(case, orders, graph.total)
        if best is not None:
            found.append(Baseline(name=name, n=best[0], total_time_s=best[1]))
    return tuple(found)


def _counts(machines: I64, size: int) -> I64:
    return np.bincount(machines, minlength=size).astype(np.int64)


def _tuned(
    case: Case, orders: list[I64], total: Callable[[I64, float], float]
) -> tuple[int, float] | None:
    """The best number of workers over all orders of machines, slots filled machine by machine."""
    best: tuple[int, float] | None = None
    for order in orders:
        slots = np.repeat(order, case.free[order])
        for n in numbers(case.fewest, min(case.most, len(slots))):
            limit = np.inf if best is None else best[1]
            taken = total(_counts(slots[:n], len(case.free)), limit)
            if taken < limit:
                best = (n, taken)
    return best


def _packed(graph: Graph, allowed: np.ndarray) -> list[I64]:
    """Orders of the allowed machines, each from another start."""
    machines = np.flatnonzero(allowed)
    rate = np.minimum(graph.rate, graph.rate.T)[: graph.machines, : graph.machines]
    orders: list[I64] = []
    strength = rate[machines].sum(axis=1)
    for start in machines[np.argsort(-strength, kind="stable")][:_STARTS].tolist():
        order, left = [start], set(machines.tolist()) - {start}
        near = rate[start].copy()
        while left:
            step = max(left, key=lambda at: (near[at], -at))
            order.append(step)
            left.remove(step)
            near += rate[step]
        orders.append(np.array(order, dtype=np.int64))
    return orders
