"""Messages: who sends to whom, and which part of their time is latency.

A message is a send and a receive of one match. Its latency is fitted over all messages between the
same two machines where their sizes allow it, else taken from the cluster; else none is known.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, Graph, Kind
from paceline.rewrite.routes import Routes
from paceline.rewrite.state import State
from paceline.rewrite.transfer_law import fitted
from paceline.rewrite.transfers import sizes


@dataclass(frozen=True, slots=True)
class Messages:
    """Per message its send and receive op, and its row in `pairs` (ranks of sender, receiver)."""

    send: I64
    recv: I64
    row: I64
    pairs: tuple[tuple[int, int], ...]


def messages(state: State) -> Messages:
    """All messages whose two ends are known."""
    graph = state.graph
    send, recv = ends(graph)
    ranks = graph.worker[send].astype(np.int64) << 32 | graph.worker[recv]
    order = np.argsort(ranks, kind="stable")
    fresh = np.diff(ranks[order], prepend=-1) != 0
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.cumsum(fresh) - 1
    pairs = tuple((int(pair >> 32), int(pair & 0xFFFFFFFF)) for pair in ranks[order][fresh])
    return Messages(send=send, recv=recv, row=row, pairs=pairs)


def ends(graph: Graph) -> tuple[I64, I64]:
    """The send and the receive op of each message that has both."""
    at = np.full((2, len(graph.match_group)), -1, dtype=np.int64)
    for side, kind in enumerate((Kind.SEND, Kind.RECV)):
        ops = np.flatnonzero((graph.kind == kind) & (graph.match >= 0))
        at[side, graph.match[ops]] = ops
    both = (at >= 0).all(axis=0)
    return at[0, both], at[1, both]


def latency_share(state: State, found: Messages) -> F64:
    """Which share of each message's time is latency, NaN where nothing tells."""
    machine = state.machines
    pairs = [tuple(machine.get(rank, f"worker {rank}") for rank in pair) for pair in found.pairs]
    number = {pair: at for at, pair in enumerate(dict.fromkeys(pairs))}
    row = np.array([number[pair] for pair in pairs], dtype=np.int64)[found.row]
    size = np.maximum(sizes(state)[found.send], sizes(state)[found.recv])
    time = state.times.duration_ns[found.recv]
    latency, per_byte = fitted(row, size, time, len(number))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = latency[row] / (latency[row] + per_byte[row] * size)
        share[size < 0] = np.nan
        if state.cluster is not None:
            known = _from_cluster(Routes(state.cluster), list(number))[row] / time
            share = np.where(np.isnan(share), np.minimum(known, 1.0), share)
    return share


def _from_cluster(routes: Routes, pairs: list[tuple[str, ...]]) -> F64:
    paths = [routes.path(pair[0], pair[1]) for pair in pairs]
    return np.array([np.nan if p is None else routes.latency_ns(p) for p in paths], np.float64)
