"""Finds sends that return only when their receiver has come, and who therefore waits for it.

The graph says of a message that the receive waits for the send. A synchronous send waits for the
receive as well. Where steps show that a message's send never ended before its receiver had come,
though that came late, whatever follows the send also follows the receive.
"""

import numpy as np

from paceline.model import I64, Graph
from paceline.stitch.cases import NEARLY_ALL, STILL_NS, Seen
from paceline.stitch.fit import messages

_LEAST = 3  # steps in which the receiver came late, below which nothing is concluded


def meeting_ends(graph: Graph, seen: Seen, few: int) -> tuple[I64, I64]:
    """Pairs (op that follows a synchronous send, receive of its message).

    With fewer than `few` steps, sends of one work are looked at together.
    """
    receive, send = messages(graph)
    begun = np.maximum(seen.start_ns, seen.free_ns)
    both = seen.known[receive] & seen.known[send]
    late = both & (begun[receive] > begun[send] + STILL_NS)
    stayed = late & (seen.end_ns[send] >= begun[receive])
    alike = graph.work[send] if both.shape[1] < few else np.arange(len(send))
    count = int(alike.max(initial=-1)) + 1
    times = np.bincount(alike, weights=late.sum(axis=1), minlength=count)
    held = np.bincount(alike, weights=stayed.sum(axis=1), minlength=count)
    waits = ((times >= _LEAST) & (held >= NEARLY_ALL * times))[alike]
    return _followers(graph, seen, send[waits], receive[waits])


def _followers(graph: Graph, seen: Seen, send: I64, receive: I64) -> tuple[I64, I64]:
    """What follows each send, on its lane or by dependency, and never began before the receive."""
    met = np.full(len(graph), -1, dtype=np.int64)
    met[send] = receive
    order = np.lexsort((graph.lane, graph.worker))
    same = (np.diff(graph.lane[order]) == 0) & (np.diff(graph.worker[order]) == 0)
    waiting = np.repeat(np.arange(len(graph)), np.diff(graph.after_from))
    follower = np.concatenate([order[1:][same], waiting])
    awaited = np.concatenate([order[:-1][same], graph.after_op.astype(np.int64)])
    after_send = met[awaited] >= 0
    follower, brought = follower[after_send], met[awaited[after_send]]
    both = seen.known[follower] & seen.known[brought]
    held = both & (seen.start_ns[follower] >= seen.end_ns[brought] - STILL_NS)
    sure = held.sum(axis=1) >= np.maximum(NEARLY_ALL * both.sum(axis=1), 1)
    return follower[sure], brought[sure]
