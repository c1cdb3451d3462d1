"""From folded ops to the Graph: works, dependencies, matches, buckets.

A work is a key with a size, counted within its worker, so the third launch of one worker is the
third launch of its peers too. A dependency that events of one step show becomes one of ops if at
least half of the steps that hold both show it.
"""

from collections.abc import Sequence

import numpy as np

from paceline.model import I32, I64, UNKNOWN, Bucket, Graph, Kind, Trace, Work, chained
from paceline.stitch.concat import owners_of
from paceline.stitch.fold import Folded
from paceline.stitch.fold_keys import Key
from paceline.stitch.fold_matches import Meetings
from paceline.stitch.meeting import occurrence, packed


def links(folded: Folded, traces: Sequence[Trace]) -> tuple[I64, I64]:
    """Pairs (op, op that it is after) that the traces' own links show."""
    at = {trace.worker: position for position, trace in enumerate(traces)}
    owners = [np.empty(0, dtype=np.int64)]
    targets = [np.empty(0, dtype=np.int64)]
    for position, trace in enumerate(traces):
        owner = owners_of(trace)
        for worker in np.unique(trace.after_worker):
            other = at.get(int(worker), -1)
            if other < 0:
                continue
            there = len(traces[other])
            own = (trace.after_worker == worker) & (trace.after_index < there)
            waiting, target = owner[own], trace.after_index[own]
            same = folded.step_of[position][waiting] == folded.step_of[other][target]
            owners.append(folded.op_of[position][waiting[same]])
            targets.append(folded.op_of[other][target[same]])
    return _lasting(folded, np.concatenate(owners), np.concatenate(targets))


def _lasting(folded: Folded, owner: I64, target: I64) -> tuple[I64, I64]:
    """Each pair once, if most steps show it and the order of the lane does not say it already."""
    apart = (folded.worker[owner] != folded.worker[target]) | (
        folded.lane[owner] != folded.lane[target]
    )
    some = (owner >= 0) & (target >= 0) & apart
    count = max(len(folded), 1)
    code, times = np.unique(owner[some] * count + target[some], return_counts=True)
    owner, target = np.divmod(code, count)
    held = (folded.start_ns != UNKNOWN).sum(axis=1)
    often = 2 * times >= np.minimum(held[owner], held[target])
    return owner[often], target[often]


def graph(folded: Folded, traces: Sequence[Trace], meet: Meetings, after: tuple[I64, I64]) -> Graph:
    """The graph of one step; `after` are pairs (op, op that it is after)."""
    owner, target = after
    order = np.lexsort((target, owner))
    work, works = _works(folded)
    layers = sorted({key.layer for key in folded.keys if key.layer is not None})
    layer_of = [layers.index(key.layer) if key.layer is not None else -1 for key in folded.keys]
    bucket, buckets = _buckets(folded, traces)
    return Graph(
        kind=folded.kinds,
        phase=np.array([int(key.phase) for key in folded.keys], dtype=np.uint8)[folded.key],
        worker=folded.worker,
        lane=folded.lane,
        work=work,
        layer=np.array(layer_of, dtype=np.int32)[folded.key],
        bucket=bucket,
        size_bytes=folded.size_bytes,
        match=meet.match,
        after_from=chained(np.bincount(owner, minlength=len(folded))),
        after_op=target[order].astype(np.int32),
        match_group=meet.group,
        workers=tuple(int(rank) for rank in np.unique(folded.worker)),
        works=works,
        lanes=folded.lanes,
        layers=tuple(layers),
        buckets=buckets,
        groups=meet.groups,
    )


def _works(folded: Folded) -> tuple[I32, tuple[Work, ...]]:
    table: dict[Key, int] = {}
    plain = [table.setdefault(key._replace(bucket=-1, round=-1), len(table)) for key in folded.keys]
    kinds = tuple(table)
    base = packed(np.array(plain, dtype=np.int64)[folded.key], folded.size_bytes)
    order = np.lexsort((folded.lane, folded.worker))  # stable: ids rise within a lane
    turn = np.empty(len(folded), dtype=np.int64)
    turn[order] = occurrence(folded.worker[order].astype(np.int64), base[order])
    _, first, work = np.unique(packed(base, turn), return_index=True, return_inverse=True)
    return work.astype(np.int32), tuple(
        _work(kinds[plain[folded.key[op]]], int(folded.size_bytes[op]), int(turn[op]))
        for op in first
    )


def _work(key: Key, size: int, turn: int) -> Work:
    return Work(
        name=key.name,
        kind=key.kind,
        phase=key.phase,
        layer=key.layer,
        size_bytes=size if size >= 0 else None,
        algorithm=key.algorithm,
        occurrence=turn,
    )


def _buckets(folded: Folded, traces: Sequence[Trace]) -> tuple[I32, tuple[Bucket, ...]]:
    """The bucket of each op; a bucket is as large as its collective, or as its chunks together."""
    told = np.array([key.bucket for key in folded.keys], dtype=np.int64)[folded.key]
    numbers = np.unique(told[told >= 0])
    size = np.zeros(len(numbers), dtype=np.int64)
    for trace in traces:
        rows = np.isin(trace.bucket, numbers) & (trace.size_bytes >= 0)
        whole = np.flatnonzero(rows & (trace.kind == Kind.COLLECTIVE))
        np.maximum.at(size, np.searchsorted(numbers, trace.bucket[whole]), trace.size_bytes[whole])
        parts = np.flatnonzero(rows & (trace.chunk >= 0))
        pairs, which = np.unique(
            packed(trace.bucket[parts].astype(np.int64), trace.chunk[parts].astype(np.int64)),
            return_inverse=True,
        )
        largest = np.zeros(len(pairs), dtype=np.int64)
        np.maximum.at(largest, which, trace.size_bytes[parts])
        bucket = np.zeros(len(pairs), dtype=np.int64)
        bucket[which] = np.searchsorted(numbers, trace.bucket[parts])
        chunked = np.zeros(len(numbers), dtype=np.int64)
        np.add.at(chunked, bucket, largest)
        size = np.maximum(size, chunked)
    place = np.where(told >= 0, np.searchsorted(numbers, told), -1)
    return place.astype(np.int32), tuple(Bucket(size_bytes=int(own)) for own in size)
