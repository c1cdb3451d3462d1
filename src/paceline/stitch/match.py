"""Finds which events of which traces meet: members of a collective, the two ends of a message.

Traces of any workers come in, one a worker; `Matches` goes out. Keys first (group and sequence),
order where there are none; what finds no counterpart stays unmatched rather than matched wrongly.
"""

from collections.abc import Sequence

import numpy as np

from paceline.model import I64, Kind, Trace
from paceline.stitch.inferred import clusters
from paceline.stitch.keyed import by_key
from paceline.stitch.matches import Matches
from paceline.stitch.meeting import packed, runs
from paceline.stitch.messages import messages
from paceline.stitch.order import BOOL, Unkeyed, matched
from paceline.stitch.talk import Talk, of


def events(traces: Sequence[Trace]) -> Matches:
    """The collectives and messages of a job, each event in at most one match."""
    talk = of(traces)
    number, keyed, cluster = _collectives(talk)
    message, by_key_too = messages(talk)
    number = np.where(message >= 0, message + number.max(initial=-1) + 1, number)
    keyed = keyed | by_key_too
    rows = np.flatnonzero(number >= 0)
    found = runs(number[rows])
    rows = rows[found.order]
    head = rows[found.first[:-1]]
    expected = _expected(traces, talk, cluster)
    collective = talk.kind[head] == Kind.COLLECTIVE
    return Matches(
        match=np.repeat(np.arange(len(head)), found.counts).astype(np.int32),
        trace=talk.trace[rows].astype(np.int32),
        event=talk.event[rows],
        kind=np.where(collective, int(Kind.COLLECTIVE), int(Kind.SEND)).astype(np.uint8),
        group=talk.group[head].astype(np.int32),
        keyed=keyed[head].astype(np.uint8),
        complete=(~collective | (found.counts >= expected[head])).astype(np.uint8),
        groups=talk.groups,
    )


def _collectives(talk: Talk) -> tuple[I64, BOOL, I64]:
    """The match of each row, whether a key found it, and the cluster whose members meet."""
    number = np.full(len(talk), -1, dtype=np.int64)
    rows = np.flatnonzero(talk.kind == Kind.COLLECTIVE)
    cluster = np.full(len(talk), -1, dtype=np.int64)
    nameless = rows[(talk.group[rows] < 0) & (talk.sequence[rows] < 0)]
    cluster[rows] = talk.group[rows]
    inferred = clusters(talk.trace[nameless], talk.name[nameless], talk.step[nameless])
    cluster[nameless] = len(talk.groups) + inferred
    by = np.zeros(len(talk), dtype=np.bool_)
    by[rows] = _keys_known(cluster[rows], talk.trace[rows], talk.sequence[rows])
    sizes = np.array([len(g.members) if g.members else 0 for g in talk.groups] + [0])
    alone = sizes[talk.group] == 1
    first, second = rows[by[rows]], rows[~by[rows]]
    number[first] = by_key(
        packed(cluster[first], talk.sequence[first]), _unkeyed(talk, cluster, first), alone[first]
    )
    found = matched(_unkeyed(talk, cluster, second))
    number[second] = np.where(found >= 0, found + number.max(initial=-1) + 1, -1)
    return number, by, cluster


def _unkeyed(talk: Talk, cluster: I64, rows: I64) -> Unkeyed:
    return Unkeyed(
        cluster[rows],
        talk.trace[rows],
        talk.step[rows],
        talk.name[rows],
        talk.size_bytes[rows],
        talk.end_ns[rows],
    )


def _keys_known(cluster: I64, trace: I64, sequence: I64) -> BOOL:
    """Rows with a sequence, in clusters where every trace has sequences."""
    groups = runs(cluster)
    lanes = runs(packed(cluster, trace))
    without = np.bincount(lanes.run[sequence >= 0], minlength=len(lanes.counts)) == 0
    head = lanes.heads
    mixed = np.bincount(groups.run[head[without]], minlength=len(groups.counts)) > 0
    return (sequence >= 0) & ~mixed[groups.run]


def _expected(traces: Sequence[Trace], talk: Talk, cluster: I64) -> I64:
    """How many workers the collective of each row should have."""
    lanes = runs(packed(cluster, talk.trace))
    head = lanes.heads
    groups = runs(cluster)
    attending = np.bincount(groups.run[head], minlength=len(groups.counts))
    workers = max((trace.facts.workers or 0 for trace in traces), default=0)
    attending[attending == len(traces)] = max(workers, len(traces))
    sizes = np.array([len(g.members) if g.members else 0 for g in talk.groups] + [0])
    told = sizes[talk.group]
    return np.where(told > 0, told, attending[groups.run])
