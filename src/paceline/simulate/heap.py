"""Binary heaps whose items know their place, so that any of them can be moved or taken out.

A heap is one column of records. As a place (from `base` on) a record says which `item` lies there;
as an item it has its `key` and its `spot`, the place where it lies, counted from its heap's base.
Many heaps share one column, each with room of its own. Compiled.
"""

from typing import Any, TypeAlias

import numpy as np

from paceline.simulate.compiled import compiled

Records: TypeAlias = Any  # numpy's types cannot say what a column of records holds

HEAP = np.dtype([("item", np.int64), ("spot", np.int64), ("key", np.float64)])


def heaps(size: int) -> Records:
    """Room for `size` items, all outside."""
    out = np.zeros(size, dtype=HEAP)
    out["spot"] = -1
    return out


@compiled
def rise(heap: Records, base: int, at: int) -> None:
    """Moves an item up until what lies above is no larger."""
    item = heap[base + at]["item"]
    key = heap[item]["key"]
    while at > 0:
        above = (at - 1) >> 1
        other = heap[base + above]["item"]
        if heap[other]["key"] <= key:
            break
        heap[base + at]["item"] = other
        heap[other]["spot"] = at
        at = above
    heap[base + at]["item"] = item
    heap[item]["spot"] = at


@compiled
def sink(heap: Records, base: int, size: int, at: int) -> None:
    """Moves an item down until what lies below is no smaller."""
    item = heap[base + at]["item"]
    key = heap[item]["key"]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = heap[base + below]["item"]
        if below + 1 < size:
            beside = heap[base + below + 1]["item"]
            if heap[beside]["key"] < heap[other]["key"]:
                below += 1
                other = beside
        if heap[other]["key"] >= key:
            break
        heap[base + at]["item"] = other
        heap[other]["spot"] = at
        at = below
    heap[base + at]["item"] = item
    heap[item]["spot"] = at


@compiled
def put(heap: Records, base: int, size: int, item: int, key: float) -> None:
    """Adds an item to a heap of `size` items."""
    heap[item]["key"] = key
    heap[base + size]["item"] = item
    rise(heap, base, size)


@compiled
def take(heap: Records, base: int, size: int, at: int) -> None:
    """Takes the item at a place out of a heap of `size` items."""
    heap[heap[base + at]["item"]]["spot"] = -1
    if at == size - 1:
        return
    last = heap[base + size - 1]["item"]
    heap[base + at]["item"] = last
    rise(heap, base, at)
    sink(heap, base, size - 1, heap[last]["spot"])


@compiled
def renew(heap: Records, base: int, size: int, item: int, key: float) -> None:
    """Gives an item another key, and the place that goes with it."""
    earlier = key < heap[item]["key"]
    heap[item]["key"] = key
    if earlier:
        rise(heap, base, heap[item]["spot"])
    else:
        sink(heap, base, size, heap[item]["spot"])
