"""Puts messages in the place of collectives: columns in, columns out.

Every op keeps its place; a collective's op is followed by a second that ends it. Messages come
behind all ops: one send and one receive each, and for what is passed on while it streams a mark
that says when its first byte has come.
"""

import dataclasses
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, Graph, Kind, Times, Work, chained
from paceline.reduce import Transfers
from paceline.simulate.network import Network

Ops: TypeAlias = npt.NDArray[np.intp]
Pairs: TypeAlias = tuple[I32, I32]  # who waits, for whom

OUT, IN, FIRST = 0, 1, 2  # what the lanes of messages are for
_LANES = ("out", "in", "first byte")


class Piece(NamedTuple):
    """One collective: its members' ops, its size, and what they send each other."""

    ops: Ops
    size_bytes: int
    transfers: Transfers


class Site(NamedTuple):
    """Where the pieces go: `meets` are all ops to be replaced, `at` the machine of each op."""

    graph: Graph
    times: Times
    meets: Ops
    at: I32
    network: Network


class Messages(NamedTuple):
    """The ops that are added, as columns; `number` is the transfer, over all pieces.

    `purpose` and `slot` say on which lane of the member's own lane; `origin` is the member's op.
    """

    purpose: I64
    slot: I64
    origin: I64
    number: I64
    size_bytes: I64
    duration_ns: I64
    lead_ns: I64


def inserted(site: Site, pieces: list[Piece]) -> tuple[Graph, Times, I32]:
    """The graph with the pieces in place, its times, and the op that each of its ops came from."""
    graph = site.graph
    kept = np.sort(np.concatenate([np.arange(len(graph)), site.meets]))
    latency = _latencies(site, pieces)
    parts: list[Messages] = []
    waits: list[Pairs] = [_kept_waits(site)]
    base, number = len(kept), 0
    for piece, own in zip(pieces, latency, strict=True):
        parts.append(_messages(piece, own, number))
        waits.extend(_waits(site, piece, base))
        base += len(parts[-1].origin)
        number += len(own)
    added = Messages(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return (
        *_assembled(site, kept, added, number, waits),
        np.append(kept, added.origin).astype(np.int32),
    )


def _latencies(site: Site, pieces: list[Piece]) -> list[I64]:
    """The latency of each transfer's route, by piece; found once for pieces that go alike."""
    members = [site.at[piece.ops] for piece in pieces]
    alike = {(id(p.transfers), at.tobytes()): (p.transfers, at)
             for p, at in zip(pieces, members, strict=True)}  # fmt: skip
    ends = [(at[plan.source], at[plan.target]) for plan, at in alike.values()]
    source, target = (np.concatenate(column) for column in zip(*ends, strict=True))
    places = max(len(site.network.place), 1)
    pairs, row = np.unique(source.astype(np.int64) * places + target, return_inverse=True)
    ways = site.network.routes(
        (pairs // places).astype(np.int32), (pairs % places).astype(np.int32)
    )
    cuts = np.cumsum([len(own) for own, _ in ends])[:-1]
    found = dict(zip(alike, np.split(ways.latency_ns[row], cuts), strict=True))
    return [found[id(p.transfers), at.tobytes()] for p, at in zip(pieces, members, strict=True)]


def _marks(transfers: Transfers) -> Ops:
    """The transfers whose first byte sets others going."""
    streamed = np.repeat(transfers.streamed, np.diff(transfers.after_from)) > 0
    return np.unique(transfers.after[streamed]).astype(np.intp)


def _messages(piece: Piece, latency: I64, number: int) -> Messages:
    plan, marks = piece.transfers, _marks(piece.transfers)
    count = len(plan.source)
    size = np.rint(plan.share * piece.size_bytes).astype(np.int64)
    fed = (np.diff(plan.after_from) > 0) & (plan.streamed > 0)
    open_ended = np.full(2 * count, -1, dtype=np.int64)
    return Messages(
        purpose=np.repeat([OUT, IN, FIRST], [count, count, len(marks)]),
        slot=np.concatenate([plan.out, plan.into, plan.out[marks]]).astype(np.int64),
        origin=piece.ops[np.concatenate([plan.source, plan.target, plan.source[marks]])],
        number=np.concatenate([np.tile(np.arange(count) + number, 2), np.full(len(marks), -1)]),
        size_bytes=np.concatenate([size, size, np.full(len(marks), -1)]),
        duration_ns=np.concatenate([open_ended, latency[marks]]),
        lead_ns=np.concatenate(
            [plan.latencies * latency, np.where(fed, latency, 0), np.zeros(len(marks), np.int64)]
        ),
    )


def _kept_waits(site: Site) -> Pairs:
    """The dependencies of the user's own ops: on the end of what they waited for."""
    replaced = np.zeros(len(site.graph), dtype=np.int32)
    replaced[site.meets] = 1
    end = np.arange(len(site.graph), dtype=np.int32) + np.cumsum(replaced, dtype=np.int32)
    begin = end - replaced
    return np.repeat(begin, np.diff(site.graph.after_from)), end[site.graph.after_op]


def _waits(site: Site, piece: Piece, base: int) -> list[Pairs]:
    """Who waits for whom within one collective whose messages begin at `base`."""
    plan, marks = piece.transfers, _marks(piece.transfers)
    count = len(plan.source)
    come = (piece.ops + np.searchsorted(site.meets, piece.ops)).astype(np.int32)
    send = np.arange(base, base + count, dtype=np.int32)
    receive = send + np.int32(count)
    mark = np.full(count, -1, dtype=np.int32)
    mark[marks] = np.arange(base + 2 * count, base + 2 * count + len(marks))
    fed = np.repeat(np.arange(count), np.diff(plan.after_from))
    feeds, streamed = plan.after, plan.streamed[fed] > 0
    ready = np.where(streamed, mark[feeds], receive[feeds])
    marked = mark[fed] >= 0
    last_out, last_in = _last(plan.source, plan.out), _last(plan.target, plan.into)
    return [
        (send, come[plan.source]),
        (send, come[plan.target]),
        (send[fed], ready),
        (receive, come[plan.target]),
        (receive[fed[streamed]], receive[feeds[streamed]]),
        (mark[marks], come[plan.source[marks]]),
        (mark[marks], come[plan.target[marks]]),
        (mark[fed[marked]], ready[marked]),
        (come[plan.source[last_out]] + 1, send[last_out]),
        (come[plan.target[last_in]] + 1, receive[last_in]),
    ]


def _last(member: I32, slot: I32) -> Ops:
    """The last transfer of each member's slot."""
    order = np.lexsort((np.arange(len(member)), slot, member))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = (np.diff(member[order]) != 0) | (np.diff(slot[order]) != 0)
    return order[last]


def _assembled(
    site: Site, kept: Ops, added: Messages, number: int, waits: list[Pairs]
) -> tuple[Graph, Times]:
    graph, times = site.graph, site.times
    whole = np.append(kept, added.origin)
    replaced = np.zeros(len(graph), dtype=bool)
    replaced[site.meets] = True
    ends = np.zeros(len(kept), dtype=bool)
    ends[1:] = kept[1:] == kept[:-1]
    after_from, after_op = _dependencies(waits, len(whole))
    works, work = _works(graph, site.meets, added)
    names, lane = _lanes(graph, site.meets, added)
    matches = len(graph.match_group)
    transfers = added.purpose == OUT
    new = dataclasses.replace(
        graph,
        kind=np.append(graph.kind[kept], np.where(transfers, Kind.SEND, Kind.RECV)),
        phase=graph.phase[whole],
        worker=graph.worker[whole],
        lane=np.append(graph.lane[kept], lane),
        work=np.append(graph.work[kept], work),
        layer=graph.layer[whole],
        bucket=graph.bucket[whole],
        size_bytes=np.append(graph.size_bytes[kept], added.size_bytes),
        match=np.append(
            np.where(replaced[kept], -1, graph.match[kept]),
            np.where(added.number >= 0, matches + added.number, -1),
        ),
        after_from=after_from,
        after_op=after_op,
        match_group=np.append(
            graph.match_group, graph.match_group[graph.match[added.origin[transfers]]]
        ),
        works=works,
        lanes=names,
    )
    assert len(new.match_group) == matches + number
    return new, Times(
        duration_ns=np.append(
            np.where(replaced[kept], 0, times.duration_ns[kept]), added.duration_ns
        ),
        lead_ns=np.append(np.where(ends, 0, times.lead_ns[kept]), added.lead_ns),
    )


def _dependencies(waits: list[Pairs], ops: int) -> tuple[I64, I32]:
    """The dependencies of each op, from all pairs."""
    from paceline.simulate.gather import gathered

    rows, targets = (np.concatenate(column) for column in zip(*waits, strict=True))
    starts = np.append(0, chained(np.bincount(rows, minlength=ops))[:-1])
    flat = np.empty(len(rows), dtype=np.int32)
    gathered(rows, targets, starts, flat)
    return starts, flat


def _works(
    graph: Graph, meets: Ops, added: Messages
) -> tuple[tuple[Work, ...], npt.NDArray[np.intp]]:
    """The table with the works of messages at its end, and the work of each added op."""
    used, row = np.unique(graph.work[meets], return_inverse=True)
    kinds = (Kind.SEND, Kind.RECV)
    more = [
        msgspec.structs.replace(graph.works[int(old)], kind=kind, size_bytes=None)
        for kind in kinds
        for old in used
    ]
    spot = np.zeros(len(graph), dtype=np.int32)
    spot[meets] = row
    receives = added.purpose != OUT
    work = len(graph.works) + len(used) * receives + spot[added.origin]
    return (*graph.works, *more), work


def _lanes(
    graph: Graph, meets: Ops, added: Messages
) -> tuple[tuple[str, ...], npt.NDArray[np.intp]]:
    """The table with the lanes of messages at its end, and the lane of each added op."""
    slots = int(added.slot.max(initial=0)) + 1
    own, row = np.unique(graph.lane[meets], return_inverse=True)
    spot = np.zeros(len(graph), dtype=np.int64)
    spot[meets] = row
    key = (spot[added.origin] * 3 + added.purpose) * slots + added.slot
    used = np.bincount(key, minlength=1) > 0
    names = [
        f"{graph.lanes[int(own[one // (3 * slots)])]} {_LANES[one // slots % 3]} {one % slots}"
        for one in np.flatnonzero(used).tolist()
    ]
    return (*graph.lanes, *names), len(graph.lanes) - 1 + np.cumsum(used)[key]
