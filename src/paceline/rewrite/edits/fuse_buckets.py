"""Merges gradient all-reduces of one group into larger ones, up to a limit.

The all-reduces of a group are taken in the order in which all members run them; neighbors become
one as long as together they stay within the limit and neither needs the other's result. The whole
runs in the place of its last part, waits for all that its parts waited for, and whoever waited for
a part waits for the whole. What launched the parts stays.
"""

import dataclasses

import msgspec
import numpy as np

from paceline.model import I32, I64, Bucket, Edit, Graph, Work
from paceline.rewrite.key import Key, Takes, whole
from paceline.rewrite.operation import works_of
from paceline.rewrite.queue import (
    apart,
    gradient_all_reduces,
    levels_of,
    nothing_to_resize,
    queued,
)
from paceline.rewrite.renumber import merged
from paceline.rewrite.select import Mask
from paceline.rewrite.state import State
from paceline.rewrite.transfer_law import assumed, predicted, scaled
from paceline.rewrite.transfers import Transfers, transfers
from paceline.rewrite.works import NewWorks

NAME: str = "fuse-buckets"
KEYS: tuple[Key, ...] = (
    Key(
        name="limit_bytes",
        takes=Takes.SIZE,
        says="the largest size of an all-reduce made of several",
        required=True,
    ),
)
SAYS: str = "Merges gradient all-reduces of the same group up to a size."

Runs = list[list[int]]  # collectives that become one, by position in the transfers, in order


def apply(state: State, edit: Edit) -> State:
    """The state whose gradient all-reduces are merged up to the limit."""
    found = transfers(state)
    if not (gradient_all_reduces(state.graph)[found.op] & (found.size_bytes >= 0)).any():
        raise nothing_to_resize(state.graph, edit)
    limit = whole(edit, "limit_bytes") or 0
    for one in np.unique(apart(state.graph)):
        found = transfers(state)
        runs = _runs(state, found, int(one), limit)
        if runs:
            state = _fused(state, edit, found, runs)
    return state


def _runs(state: State, found: Transfers, one: int, limit: int) -> Runs:
    """What becomes one among the groups of a class."""
    graph, queue = state.graph, queued(state.graph)
    group = graph.match_group[found.match]
    mine = queue.mask[found.op] & (apart(graph)[group] == one)
    at = np.full(len(graph.match_group) + 1, -1, dtype=np.int64)
    at[found.match] = np.arange(len(found.match))
    before = at[queue.before[found.match]]
    algorithm = [work.algorithm for work in works_of(graph, found.op)]
    fine = mine & (found.size_bytes >= 0) & (before >= 0)
    fine &= (found.size_bytes[before] >= 0) & (found.size_bytes + found.size_bytes[before] <= limit)
    fine &= [algorithm[now] == algorithm[ahead] for now, ahead in enumerate(before)]
    if not fine.any():
        return []
    counted = np.zeros(len(graph), dtype=bool)
    counted[found.members] = found.spread(mine)
    level = levels_of(graph, queue, counted)[found.op]
    fine &= (level >= 0) & (level == level[before])
    return _greedy(before, fine, found.size_bytes, limit)


def _greedy(before: I64, fine: Mask, size_bytes: I64, limit: int) -> Runs:
    """Runs of neighbors that may become one, each as long as the limit allows."""
    next_of = np.full(len(before), -1, dtype=np.int64)
    next_of[before[fine]] = np.flatnonzero(fine)
    heads = np.flatnonzero((next_of >= 0) & ~fine)
    runs: Runs = []
    for head in heads.tolist():
        run, total, now = [head], int(size_bytes[head]), int(next_of[head])
        while now >= 0:
            size = int(size_bytes[now])
            if total + size <= limit:
                run.append(now)
                total += size
            else:
                runs.append(run)
                run, total = [now], size
            now = int(next_of[now])
        runs.append(run)
    return [run for run in runs if len(run) > 1]


def _fused(state: State, edit: Edit, found: Transfers, runs: Runs) -> State:
    whole_of = np.arange(len(found.match))
    for run in runs:
        whole_of[run] = run[-1]
    state = _resized(state, edit, found, runs, whole_of)
    place = found.spread(np.arange(len(whole_of)))
    offset = np.arange(len(found.members)) - found.first[place]
    into = np.arange(len(state.graph), dtype=np.int32)
    into[found.members] = found.members[found.first[whole_of[place]] + offset]
    rows = np.flatnonzero(into == np.arange(len(into)))
    number = np.empty(len(into), dtype=np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    return merged(state, number[into], rows)


def _resized(state: State, edit: Edit, found: Transfers, runs: Runs, whole_of: I64) -> State:
    """Gives the last part of each run the size and the time of the whole."""
    state, laws = assumed(state, found)
    count = len(whole_of)
    size = np.zeros(count, dtype=np.int64)
    np.add.at(size, whole_of, found.size_bytes)
    time = np.zeros(count, dtype=np.int64)
    np.add.at(time, whole_of, found.duration_ns)
    open_time = np.bincount(whole_of, found.duration_ns < 0, minlength=count) > 0
    time[open_time] = -1
    parts = predicted(laws, found.row, found.size_bytes)
    was = np.bincount(whole_of, parts, minlength=count).astype(np.float64)
    becomes = predicted(laws, found.row, size)
    wholes = np.array([run[-1] for run in runs], dtype=np.int64)
    time[wholes] = scaled(state, edit, time[wholes], was[wholes], becomes[wholes])
    graph = _renamed(state.graph, found, runs, size)
    duration = state.times.duration_ns.copy()
    chosen = found.spread(np.isin(np.arange(count), wholes))
    duration[found.members[chosen]] = found.spread(time)[chosen]
    state = state.timed(duration_ns=duration)
    return dataclasses.replace(state, graph=graph, laws=laws)


def _renamed(graph: Graph, found: Transfers, runs: Runs, size: I64) -> Graph:
    """The graph whose last part of each run has the work, bucket and size of the whole."""
    works = NewWorks(graph)
    columns = {
        name: getattr(graph, name).copy() for name in ("work", "layer", "bucket", "size_bytes")
    }
    buckets = list(graph.buckets)
    for run in runs:
        parts = found.op[run]
        ops, total = found.members_of(run[-1]), int(size[run[-1]])
        layers = set(graph.layer[parts].tolist())
        layer = layers.pop() if len(layers) == 1 else -1
        group = int(graph.match_group[found.match[run[-1]]])
        columns["work"][ops] = works.add(group, _whole(graph, parts, total))
        columns["layer"][ops] = layer
        columns["size_bytes"][ops] = total
        columns["bucket"][ops] = _bucket(graph.bucket[parts], buckets, total)
    return dataclasses.replace(graph, works=works.table, buckets=tuple(buckets), **columns)


def _whole(graph: Graph, parts: I64, size_bytes: int) -> Work:
    """A work of this size like that of the last part; of a layer only if all parts are."""
    works = works_of(graph, parts)
    layer = works[-1].layer if len({work.layer for work in works}) == 1 else None
    return msgspec.structs.replace(works[-1], layer=layer, size_bytes=size_bytes)


def _bucket(parts: I32, buckets: list[Bucket], size_bytes: int) -> int:
    """The bucket of the whole: that of all parts, or a new one of all their tensors."""
    some = list(dict.fromkeys(int(part) for part in parts))
    if len(some) == 1 or -1 in some:
        return some[0] if len(some) == 1 else -1
    tensors = tuple(dict.fromkeys(name for at in some for name in buckets[at].tensors))
    buckets.append(Bucket(size_bytes=size_bytes, tensors=tensors))
    return len(buckets) - 1
