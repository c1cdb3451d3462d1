"""Hops of a transport joined to the collectives that they are parts of.

Our own transport records each chunk that travels: sends and receives with a bucket and an
algorithm. They show links and waits to the message, but edits speak of collectives: buckets are
fused, algorithms exchanged, workers added. All hops of one bucket on one worker become one member
of an all-reduce, from the first hop's start to the last hop's end in each measured step.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.model import (
    I32,
    I64,
    UNKNOWN,
    Bucket,
    Graph,
    Kind,
    Phase,
    Profile,
    Timeline,
    Times,
    Work,
)
from paceline.reduce import ALL_REDUCE
from paceline.rewrite.ragged import ragged, rows_of
from paceline.rewrite.renumber import matched, merged
from paceline.rewrite.state import State, begun

LANE = "all-reduce"

Mask = npt.NDArray[np.bool_]


class _Parts(NamedTuple):
    """`hops` are ops in id order; `whole` says which collective each belongs to, counted from 0."""

    hops: I64
    whole: I64
    group: I64
    bucket: I64
    algorithm: tuple[str, ...]


def has_hops(graph: Graph) -> bool:
    """Whether the graph holds hops of collectives."""
    return bool(_hops(graph).any())


def whole(profile: Profile) -> Profile:
    """The profile whose hops are joined to collectives; as it is, where there are none."""
    graph = profile.graph
    if not has_hops(graph):
        return profile
    parts = _parts(graph)
    place, member = np.unique(
        parts.whole * (int(graph.worker.max()) + 1) + graph.worker[parts.hops], return_inverse=True
    )
    rows, into = _rows(graph, parts, member, len(place))
    zeros = np.zeros(len(graph), dtype=np.int64)
    none = Times(duration_ns=zeros, lead_ns=zeros)
    state = merged(begun(graph, none, profile, None), into, rows)
    ops = np.unique(into[parts.hops]).astype(np.int64)  # the joined ops, by id
    first = np.full(len(rows), -1, dtype=np.int64)
    first[into[parts.hops]] = parts.whole
    joined = _joined(state, graph, parts, ops, first[ops])
    measured = tuple(_timed(line, into, len(rows)) for line in profile.measured)
    return dataclasses.replace(profile, graph=joined, measured=measured)


def _hops(graph: Graph) -> Mask:
    told = np.array([work.algorithm is not None for work in graph.works], dtype=np.bool_)
    talk = (graph.kind == Kind.SEND) | (graph.kind == Kind.RECV)
    return talk & (graph.bucket >= 0) & (graph.match >= 0) & told[graph.work]


def _parts(graph: Graph) -> _Parts:
    hops = np.flatnonzero(_hops(graph))
    group = graph.match_group[graph.match[hops]].astype(np.int64)
    key = (group + 1) * (int(graph.bucket.max()) + 1) + graph.bucket[hops]
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return _Parts(
        hops=hops,
        whole=number,
        group=group[first],
        bucket=graph.bucket[hops[first]].astype(np.int64),
        algorithm=tuple(graph.works[int(graph.work[op])].algorithm or "" for op in hops[first]),
    )


def _rows(graph: Graph, parts: _Parts, member: I64, count: int) -> tuple[I64, I32]:
    """Which old op each new op looks like, and which new op stands for each old one."""
    head = np.full(count, len(graph), dtype=np.int64)
    np.minimum.at(head, member, parts.hops)
    keep = np.ones(len(graph), dtype=np.bool_)
    keep[parts.hops] = False
    keep[head] = True
    rows = np.flatnonzero(keep)
    into = np.full(len(graph), -1, dtype=np.int32)
    into[rows] = np.arange(len(rows), dtype=np.int32)
    into[parts.hops] = into[head[member]]
    return rows, into


def _joined(state: State, old: Graph, parts: _Parts, ops: I64, whole_of: I64) -> Graph:
    """The graph whose joined ops are collectives that meet."""
    graph, matches = state.graph, len(state.graph.match_group)
    sizes = _sizes(state, old, parts)
    columns = {
        name: getattr(graph, name).copy()
        for name in ("kind", "phase", "lane", "work", "bucket", "size_bytes", "match")
    }
    works = [
        Work(
            name="all_reduce", kind=Kind.COLLECTIVE, phase=Phase.BACKWARD, size_bytes=size,
            algorithm=algorithm, occurrence=at,
        )
        for at, (algorithm, size) in enumerate(zip(parts.algorithm, sizes, strict=True))
    ]  # fmt: skip
    columns["kind"][ops], columns["phase"][ops] = Kind.COLLECTIVE, Phase.BACKWARD
    columns["lane"][ops] = len(graph.lanes)
    columns["work"][ops] = len(graph.works) + whole_of
    columns["size_bytes"][ops] = np.array(sizes, dtype=np.int64)[whole_of]
    columns["match"][ops] = matches + whole_of
    after_from, after_op = _by_lane(graph, ops)
    grown = dataclasses.replace(
        graph,
        **columns,
        after_from=after_from,
        after_op=after_op,
        match_group=np.append(graph.match_group, parts.group).astype(np.int32),
        works=(*graph.works, *works),
        lanes=(*graph.lanes, LANE),
    )
    return matched(grown, grown.match)


def _by_lane(graph: Graph, ops: I64) -> tuple[I64, I32]:
    """Dependencies without those between joined ops, which their lane has in order anyway.

    A transport carries one bucket after the other; that does not make one need the other's result.
    """
    joined = np.zeros(len(graph), dtype=np.bool_)
    joined[ops] = True
    rows = rows_of(graph.after_from)
    kept = ~(joined[rows] & joined[graph.after_op])
    return ragged(rows[kept], graph.after_op[kept], len(graph))


def _sizes(state: State, old: Graph, parts: _Parts) -> list[int]:
    """Bytes of each bucket: what all sent over what the algorithm lets them send, else as told."""
    sends = old.kind[parts.hops] == Kind.SEND
    sent = np.bincount(
        parts.whole[sends], np.maximum(old.size_bytes[parts.hops[sends]], 0), len(parts.algorithm)
    )
    out: list[int] = []
    for at in range(len(parts.algorithm)):
        told = _told(old.buckets, int(parts.bucket[at]))
        ranks = np.unique(old.worker[parts.hops[parts.whole == at]]).tolist()
        shares = _shares(parts.algorithm[at], ranks, state.machines)
        out.append(round(sent[at] / shares) if shares and sent[at] else told or -1)
    return out


def _told(buckets: Sequence[Bucket], bucket: int) -> int:
    return buckets[bucket].size_bytes if bucket < len(buckets) else 0


def _shares(algorithm: str, ranks: Sequence[int], machines: dict[int, str]) -> float:
    """How many buffers all members send together."""
    if algorithm not in ALL_REDUCE or len(ranks) < 2:
        return 0.0
    by_machine: dict[str, list[int]] = {}
    for at, rank in enumerate(ranks):
        by_machine.setdefault(machines.get(rank, f"worker {rank}"), []).append(at)
    return float(ALL_REDUCE[algorithm](list(by_machine.values())).share.sum())


def _timed(line: Timeline, into: I32, count: int) -> Timeline:
    """The times of what came out: from the start of its first part to the end of its last."""
    start = np.full(count, np.iinfo(np.int64).max)
    end = np.full(count, UNKNOWN)
    known = line.start_ns != UNKNOWN
    np.minimum.at(start, into[known], line.start_ns[known])
    np.maximum.at(end, into[known], line.end_ns[known])
    start[start == np.iinfo(np.int64).max] = UNKNOWN
    return dataclasses.replace(line, start_ns=start, end_ns=end)
