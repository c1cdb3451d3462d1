"""Splits gradient all-reduces above a limit into equal parts within it.

The parts run one after the other on the lane of the whole; whoever waited for the whole waits for
the last. Which part of a bucket is ready when is not recorded, so all parts begin no sooner than
the whole did: what splitting gains is shown from below.
"""

import dataclasses

import numpy as np
from msgspec.structs import replace

from paceline.model import I64, Edit, Graph, InputError, chained
from paceline.rewrite.key import Key, Takes, whole
from paceline.rewrite.operation import works_of
from paceline.rewrite.queue import gradient_all_reduces, nothing_to_resize
from paceline.rewrite.renumber import repeated
from paceline.rewrite.state import State
from paceline.rewrite.transfer_law import assumed, predicted, scaled
from paceline.rewrite.transfers import Transfers, transfers
from paceline.rewrite.works import NewWorks

NAME: str = "split-buckets"
KEYS: tuple[Key, ...] = (
    Key(
        name="limit_bytes",
        takes=Takes.SIZE,
        says="the largest size of an all-reduce",
        required=True,
    ),
)
SAYS: str = "Splits gradient all-reduces above a size into equal parts."


_MOST_OPS = 2**26


def apply(state: State, edit: Edit) -> State:
    """The state whose gradient all-reduces are within the limit."""
    found = transfers(state)
    mine = gradient_all_reduces(state.graph)[found.op] & (found.size_bytes >= 0)
    if not mine.any():
        raise nothing_to_resize(state.graph, edit)
    limit = whole(edit, "limit_bytes") or 1
    parts = np.where(mine, np.maximum(-(-found.size_bytes // limit), 1), 1)
    if (parts == 1).all():
        return state
    counts = np.ones(len(state.graph), dtype=np.int64)
    counts[found.members] = found.spread(parts)
    if counts.sum() > _MOST_OPS:
        raise InputError(
            f"makes {counts.sum()} ops.",
            where=edit,
            expected=f"A graph holds {_MOST_OPS} at most here.",
            cure="Use a larger limit.",
        )
    return _split(state, edit, found, parts, counts)


def _split(state: State, edit: Edit, found: Transfers, parts: I64, counts: I64) -> State:
    state, laws = assumed(state, found)
    some = np.flatnonzero(parts > 1)
    of = np.repeat(some, parts[some])  # the whole of each part
    part = np.arange(len(of)) - np.repeat(chained(parts[some])[:-1], parts[some])
    size = found.size_bytes[of] // parts[of] + (part < found.size_bytes[of] % parts[of])
    was = predicted(laws, found.row, found.size_bytes)[of]
    becomes = predicted(laws, found.row[of], size)
    time = scaled(state, edit, found.duration_ns[of], was, becomes)
    works = NewWorks(state.graph)
    group = state.graph.match_group[found.match[of]].tolist()
    like = works_of(state.graph, found.op[of])
    number = [
        works.add(members, replace(work, size_bytes=total))
        for members, work, total in zip(group, like, size.tolist(), strict=True)
    ]
    rows = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(rows)) - np.repeat(chained(counts)[:-1], counts)
    row_of = np.full(len(counts), -1, dtype=np.int64)  # first part of each op that is split
    row_of[found.members] = found.spread(_first_parts(parts))
    ops = np.flatnonzero(row_of[rows] >= 0)
    at = row_of[rows[ops]] + nth[ops]
    split = repeated(dataclasses.replace(state, laws=laws), counts)
    graph = _matched_apart(split.graph, found, parts, nth)
    columns = {"size_bytes": graph.size_bytes.copy(), "work": graph.work.copy()}
    columns["size_bytes"][ops], columns["work"][ops] = size[at], np.array(number)[at]
    duration = split.times.duration_ns.copy()
    duration[ops] = time[at]
    graph = dataclasses.replace(graph, works=works.table, **columns)
    return dataclasses.replace(split, graph=graph).timed(
        duration_ns=duration, lead_ns=np.where(nth == 0, split.times.lead_ns, 0)
    )


def _first_parts(parts: I64) -> I64:
    """Where the parts of each collective begin among all parts, -1 where it stays whole."""
    first = chained(np.where(parts > 1, parts, 0))[:-1]
    return np.where(parts > 1, first, -1)


def _matched_apart(graph: Graph, found: Transfers, parts: I64, nth: I64) -> Graph:
    """The graph where the n-th parts meet each other."""
    counts = np.ones(len(graph.match_group), dtype=np.int64)
    counts[found.match] = parts
    match = np.where(graph.match >= 0, chained(counts)[:-1][graph.match] + nth, -1)
    return dataclasses.replace(
        graph, match=match.astype(np.int32), match_group=np.repeat(graph.match_group, counts)
    )
