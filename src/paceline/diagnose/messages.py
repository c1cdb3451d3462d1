"""The messages of a step: who sends to whom, and what such a message takes on other links."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.diagnose.peers import columnwise_median, median_of_others
from paceline.model import Graph, Kind

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class Messages(NamedTuple):
    """One row a message; `pair` is a position in `pairs`, (sender, receiver)."""

    send: I64
    receive: I64
    pair: I64
    pairs: list[tuple[int, int]]
    usual: F64  # transfer over the steps
    peers: F64  # usual transfer of messages of this size on the other links
    send_usual: F64  # how long the sender is occupied
    send_peers: F64  # usual time of sending them there

    @property
    def shift(self) -> F64:
        """By how much a message usually takes longer than its peers."""
        return self.usual - self.peers


def messages(graph: Graph, duration: F64) -> Messages:
    """All messages whose two ends are known."""
    at = np.full((2, len(graph.match_group)), -1, dtype=np.int64)
    for row, kind in enumerate((Kind.SEND, Kind.RECV)):
        ops = np.flatnonzero((graph.kind == kind) & (graph.match >= 0))
        at[row, graph.match[ops]] = ops
    send, receive = at[:, (at >= 0).all(axis=0)]
    ends = np.stack([graph.worker[send], graph.worker[receive]], axis=1).astype(np.int64)
    pairs, pair = np.unique(ends, axis=0, return_inverse=True)
    _, size = np.unique(graph.size_bytes[receive], return_inverse=True)
    cell = size.reshape(-1).astype(np.int64) * max(len(pairs), 1) + pair.reshape(-1)
    usual = columnwise_median(duration[:, receive])
    sending = columnwise_median(duration[:, send])
    return Messages(
        send=send,
        receive=receive,
        pair=pair.reshape(-1).astype(np.int64),
        pairs=[(int(a), int(b)) for a, b in pairs],
        usual=usual,
        peers=_others(usual, cell, len(pairs)),
        send_usual=sending,
        send_peers=_others(sending, cell, len(pairs)),
    )


def cured(found: Messages, duration: F64, rows: npt.NDArray[np.bool_]) -> F64:
    """The durations if these messages took what their peers take, however they vary.

    A link slow in rate multiplies times and their variation; so it is divided out again, both of
    the transfer and of the time that the sender is occupied.
    """
    out = duration.copy()
    receives, sends = found.receive[rows], found.send[rows]
    out[:, receives] *= (found.peers / np.maximum(found.usual, 1))[rows]
    out[:, sends] *= np.minimum(found.send_peers / np.maximum(found.send_usual, 1), 1)[rows]
    return out


def prompt(found: Messages, duration: F64, rows: npt.NDArray[np.bool_]) -> F64:
    """The durations if these messages did not come later by a constant than their peers."""
    out = duration.copy()
    receives = found.receive[rows]
    out[:, receives] = np.maximum(out[:, receives] - found.shift[rows], 0)
    return out


def _others(values: F64, cell: I64, pairs: int) -> F64:
    """For each message the median over the other links' medians at its size."""
    cells, back = np.unique(cell, return_inverse=True)
    back = back.reshape(-1)
    order = np.lexsort((values, back))
    size = np.bincount(back, minlength=len(cells))
    first = np.cumsum(size) - size
    ordered = values[order]
    typical = (ordered[first + (size - 1) // 2] + ordered[first + size // 2]) / 2
    return median_of_others(typical, (cells // max(pairs, 1)).astype(np.int32))[back]
