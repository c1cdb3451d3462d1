"""Lays out a graph for the compiled engine: lanes as chains, and what becomes of each op."""

from typing import NamedTuple

import numpy as np

from paceline.model import I32, I64, U8, Graph, ModelError, Times
from paceline.simulate.engine import NOBODY, UNPLAYED, arranged
from paceline.simulate.placement import worker_rows
from paceline.simulate.sound import named


class Lanes(NamedTuple):
    """Columns by op, by lane and by match; see the engine for what they mean."""

    code: U8
    partner: I32
    following: I32
    first: I32  # by lane
    sender: I32  # by match
    receiver: I32
    members: I64
    longest: I64


def nobody(count: int) -> I32:
    """Nobody, so many times."""
    return np.full(count, NOBODY, dtype=np.int32)


def unplayed(count: int) -> I64:
    """Times of what has not been played."""
    return np.full(count, UNPLAYED, dtype=np.int64)


def lanes(graph: Graph, times: Times) -> Lanes:
    """The lanes of a graph; ModelError for a message that two send or receive."""
    ops, matches = len(graph), len(graph.match_group)
    place, room = _places(graph)
    first, last = nobody(min(room, ops)), nobody(min(room, ops))
    following, partner = nobody(ops), nobody(ops)
    code = np.zeros(ops, dtype=np.uint8)
    sender, receiver = nobody(matches), nobody(matches)
    members, longest = np.zeros(matches, dtype=np.int64), unplayed(matches)
    count, twice = arranged(
        place, nobody(room), last, graph.kind, graph.match, times.duration_ns,
        first, following, code, partner, sender, receiver, members, longest,
    )  # fmt: skip
    if twice != NOBODY:
        raise ModelError(
            f"The message of {named(graph, twice)} has two senders or two receivers.",
            expected="A match is one collective, or one send and one receive.",
        )
    return Lanes(code, partner, following, first[:count].copy(), sender, receiver, members, longest)


def _places(graph: Graph) -> tuple[I64, int]:
    """A number for each op's (worker, lane), and how many numbers there are."""
    place = worker_rows(graph) * np.int64(len(graph.lanes)) + graph.lane
    room = len(graph.workers) * len(graph.lanes)
    if room <= 4 * len(graph) + 2**20:
        return place, room
    used, place = np.unique(place, return_inverse=True)
    return place.astype(np.int64), len(used)
