"""What each op gains from faster links: by how much, and on which part of its time."""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64
from paceline.rewrite.laws import Laws
from paceline.rewrite.link import Faster
from paceline.rewrite.message import latency_share, messages
from paceline.rewrite.select import Mask
from paceline.rewrite.state import State
from paceline.rewrite.transfers import Transfers, transfers


@dataclass(frozen=True, slots=True)
class Gains:
    """By op: whether it uses the links, by what its rate grows, which share of its time is latency.

    NaN where nothing tells.
    """

    uses: Mask
    rate: F64
    latency: F64


def gains(state: State, laws: Laws, links: Faster) -> Gains:
    """The gains of all collectives and messages of a state."""
    ops = len(state.graph)
    out = Gains(np.zeros(ops, dtype=bool), np.ones(ops), np.full(ops, np.nan))
    _collectives(state, laws, links, out)
    _messages(state, links, out)
    return out


def quicker(state: State, laws: Laws, links: Faster) -> Laws:
    """The laws that hold with these links."""
    found = transfers(state)
    _, rate = _of_collectives(state, found, links)
    row, first = np.unique(found.row, return_index=True)
    growth = np.ones(len(laws))
    growth[row] = np.nan_to_num(rate[first], nan=1.0)
    return Laws(latency_ns=laws.latency_ns, ns_per_byte=laws.ns_per_byte / growth)


def _of_collectives(state: State, found: Transfers, links: Faster) -> tuple[Mask, F64]:
    """Whether each collective uses the links, and by what its rate grows."""
    told: dict[int | tuple[int, ...], float | None] = {}
    gained: list[float | None] = []
    for at, group in enumerate(state.graph.match_group[found.match].tolist()):
        key = group if group >= 0 else found.workers_of(state.graph, at)
        if key not in told:
            told[key] = links.collective(found.workers_of(state.graph, at))
        gained.append(told[key])
    return _told(gained)


def _told(gained: list[float | None]) -> tuple[Mask, F64]:
    """Whether each is a use, and its growth, NaN for one that is not told."""
    uses = np.array([one is not None for one in gained], dtype=bool)
    rate = np.array([1.0 if one is None else one or np.nan for one in gained], np.float64)
    return uses, rate


def _collectives(state: State, laws: Laws, links: Faster, out: Gains) -> None:
    found = transfers(state)
    uses, rate = _of_collectives(state, found, links)
    latency = laws.latency_ns[found.row]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = latency / (latency + laws.ns_per_byte[found.row] * found.size_bytes)
    share[found.size_bytes < 0] = np.nan
    out.uses[found.members] = found.spread(uses)
    out.rate[found.members] = found.spread(rate)
    out.latency[found.members] = found.spread(share)


def _messages(state: State, links: Faster, out: Gains) -> None:
    found = messages(state)
    if not found.pairs:
        return
    uses, rate = _told([links.message(*pair) for pair in found.pairs])
    share = latency_share(state, found)
    for ops in (found.send, found.recv):
        out.uses[ops], out.rate[ops] = uses[found.row], rate[found.row]
        out.latency[ops] = share
