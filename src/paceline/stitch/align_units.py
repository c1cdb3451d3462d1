"""Clocks in their rough place: whole nanoseconds first, so that floats lose nothing afterwards.

A unit is one clock; at first every trace has its own, later traces of one machine may share one.
Rough offsets are medians of differences of ends that coincide, along a tree of the pairs with most
evidence. What no tree connects to the first trace stays where it is, in a component of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, UNKNOWN, Trace
from paceline.stitch.align_ties import Meets, Orders, thinned
from paceline.stitch.meeting import packed, runs

_ENOUGH_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Units:
    """Which clock each trace uses, where each clock starts, and its rough offset.

    `component` is 0 for what is tied to the first trace's clock.
    """

    of_trace: I64
    start_ns: I64
    offset_ns: I64
    component: I64

    def __len__(self) -> int:
        return len(self.start_ns)

    def since(self, trace: I64, raw_ns: I64) -> F64:
        """Nanoseconds on its own clock since the clock's first event."""
        return (raw_ns - self.start_ns[self.of_trace[trace]]).astype(np.float64)

    def rough(self, trace: I64, raw_ns: I64) -> F64:
        """The moment on the rough common clock, in ns after the first unit's first event."""
        unit = self.of_trace[trace]
        return (raw_ns + self.offset_ns[unit] - self.start_ns[0]).astype(np.float64)


def first_events(traces: Sequence[Trace]) -> I64:
    """The first time of each trace, 0 for one without times."""
    firsts = [trace.start_ns[trace.start_ns != UNKNOWN] for trace in traces]
    return np.array([int(first.min()) if len(first) else 0 for first in firsts], dtype=np.int64)


def placed(of_trace: I64, first_ns: I64, meets: Meets, orders: Orders) -> Units:
    """Units with rough offsets, found from the pairs of units that share evidence."""
    count = int(of_trace.max()) + 1
    start = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(start, of_trace, first_ns)
    pairs, apart, weight = _pairs(of_trace, thinned(meets, _ENOUGH_ROWS), orders)
    offset, component = _along_tree(count, pairs, apart, weight)
    return Units(of_trace, start, offset, component)


def _pairs(of_trace: I64, meets: Meets, orders: Orders) -> tuple[I64, I64, I64]:
    """Each pair of units with evidence: median of first clock - second clock, and how much."""
    neighbors = np.flatnonzero(meets.meet[1:] == meets.meet[:-1])
    one = np.concatenate([of_trace[meets.trace[neighbors]], of_trace[orders.before]])
    two = np.concatenate([of_trace[meets.trace[neighbors + 1]], of_trace[orders.after]])
    apart = np.concatenate([
        meets.end_ns[neighbors] - meets.end_ns[neighbors + 1], orders.sent_ns - orders.after_ns
    ])  # fmt: skip
    swapped = one > two
    apart = np.where(swapped, -apart, apart)
    low, high = np.minimum(one, two), np.maximum(one, two)
    kept = low != high
    low, high, apart = low[kept], high[kept], apart[kept]
    key = packed(low, high)
    order = np.lexsort((apart, key))
    own = runs(key[order])
    middle = order[(own.first[:-1] + own.first[1:]) // 2]
    return np.stack([low[middle], high[middle]], axis=1), apart[middle], own.counts


def _along_tree(count: int, pairs: I64, apart: I64, weight: I64) -> tuple[I64, I64]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import (
        breadth_first_order,
        connected_components,
        minimum_spanning_tree,
    )

    offset = np.zeros(count, dtype=np.int64)
    shape = (count, count)
    graph = csr_array((1.0 / weight, (pairs[:, 0], pairs[:, 1])), shape=shape)
    tree = minimum_spanning_tree(graph)
    _, component = connected_components(graph, directed=False)
    difference = {(int(a), int(b)): int(d) for (a, b), d in zip(pairs, apart, strict=True)}
    for root in np.unique(component, return_index=True)[1]:
        visited, parents = breadth_first_order(tree, int(root), directed=False)
        for unit in visited[1:]:
            parent = int(parents[unit])
            # aligned = raw + offset, and raw_low - raw_high is known
            low, high = min(parent, int(unit)), max(parent, int(unit))
            gap = difference[low, high]
            offset[unit] = offset[parent] + (gap if parent == low else -gap)
    return offset, _from_first(component.astype(np.int64))


def _from_first(component: I64) -> I64:
    """Components renumbered by their first unit, so that the first unit's is 0."""
    _, first = np.unique(component, return_index=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[component]
