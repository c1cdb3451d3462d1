"""Collectives that ran at once over the same links, laid one after the other.

Some backends (gloo) have several collectives of a group in flight, which share the links: each then
takes as long as all of them together. What one takes by itself is its part of that time, as large
as its part of the bytes, and to change one (fuse, split, add members) is to change that part. So
they are put on one lane in the order in which they were ready, each with its own part; when the
last of them ends stays as it was.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.model import (
    DECILES,
    F64,
    I64,
    UNKNOWN,
    Graph,
    Kind,
    Profile,
    Spreads,
    Timeline,
    Times,
)

LANE = "collectives"
_LEAST = 0.05  # of all transfer time that must have been shared


class Serial(NamedTuple):
    """A profile whose collectives of one group never overlap; `crowds` are those that did."""

    profile: Profile
    crowds: tuple[I64, ...]

    def times(self, times: Times, line: Timeline) -> Times:
        """The times of a step, of each collective that overlapped its own part of that time."""
        duration = times.duration_ns.copy()
        for crowd in self.crowds:
            ops, place = _members(self.profile.graph, crowd)
            part = _parts(
                *_transfers(self.profile.graph, line, crowd), _sizes(self.profile.graph, ops, place)
            )
            known = (duration[ops] >= 0) & (line.start_ns[ops] != UNKNOWN)
            duration[ops[known]] = np.rint(part[place[known]]).astype(np.int64)
        return dataclasses.replace(times, duration_ns=duration)


def serial(profile: Profile) -> Serial:
    """The profile with such collectives on one lane; as it is, where none overlap."""
    graph = profile.graph
    crowds = tuple(crowd for crowd in _crowds(graph) if _overlaps(profile, crowd))
    if not crowds:
        return Serial(profile, ())
    lane, works = graph.lane.copy(), np.empty(0, dtype=np.int32)
    for at, crowd in enumerate(crowds):
        ops, _ = _members(graph, crowd)
        lane[ops] = len(graph.lanes) + at
        works = np.append(works, graph.work[ops])
    names = tuple(LANE if at == 0 else f"{LANE} {at + 1}" for at in range(len(crowds)))
    laid = dataclasses.replace(
        profile,
        graph=dataclasses.replace(graph, lane=lane, lanes=(*graph.lanes, *names)),
        durations=_without(profile.durations, np.unique(works)),
    )
    return Serial(laid, crowds)


def _overlaps(profile: Profile, crowd: I64) -> bool:
    """Whether a good part of the time of these transfers was shared."""
    alone = together = 0.0
    for line in profile.measured:
        begin, end = _transfers(profile.graph, line, crowd)
        alone += float(_parts(begin, end, np.ones(len(crowd), np.int64)).sum())
        together += float(np.nansum(end - begin))
    return together - alone > _LEAST * together


def _crowds(graph: Graph) -> list[I64]:
    """Matches of collectives of equal members that run on more than one lane of some worker."""
    meets = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    if not len(meets):
        return []
    by_members: dict[tuple[int, ...], list[int]] = {}
    order = meets[np.argsort(graph.match[meets], kind="stable")]
    first = np.flatnonzero(np.append(True, np.diff(graph.match[order]) != 0))
    for ops in np.split(order, first[1:]):
        by_members.setdefault(tuple(sorted(graph.worker[ops].tolist())), []).append(
            int(graph.match[ops[0]])
        )
    crowds = [np.array(matches) for matches in by_members.values() if len(matches) > 1]
    return [own for own in crowds if _on_several_lanes(graph, _members(graph, own)[0])]


def _members(graph: Graph, crowd: I64) -> tuple[I64, I64]:
    """The ops of these matches, which rise, and the place of each one's match among them."""
    ops = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & np.isin(graph.match, crowd))
    return ops, np.searchsorted(crowd, graph.match[ops])


def _on_several_lanes(graph: Graph, ops: I64) -> bool:
    pairs = np.unique(np.stack([graph.worker[ops], graph.lane[ops]]), axis=1)
    return bool(pairs.shape[1] > len(np.unique(pairs[0])))


def _sizes(graph: Graph, ops: I64, place: I64) -> I64:
    """The bytes of each match: what its members put in, which are alike."""
    out = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(out, place, graph.size_bytes[ops])
    return out


def _transfers(graph: Graph, line: Timeline, crowd: I64) -> tuple[F64, F64]:
    """When each collective's last member came and its first one left; NaN where not on record."""
    ops, place = _members(graph, crowd)
    known = line.start_ns[ops] != UNKNOWN
    begin, end = np.full(len(crowd), -np.inf), np.full(len(crowd), np.inf)
    np.maximum.at(begin, place[known], line.start_ns[ops[known]])
    np.minimum.at(end, place[known], line.end_ns[ops[known]])
    there = np.isfinite(begin) & np.isfinite(end)
    end = np.maximum(begin, end)
    return np.where(there, begin, np.nan), np.where(there, end, np.nan)


def _parts(begin: F64, end: F64, size_bytes: I64) -> F64:
    """What each takes by itself: of a time in which some overlapped, as much as of the bytes."""
    out = np.zeros(len(begin))
    there = np.flatnonzero(~np.isnan(begin))
    order = there[np.argsort(begin[there], kind="stable")]
    if not len(order):
        return out
    latest = np.maximum.accumulate(end[order])
    opens = np.append(True, begin[order][1:] >= latest[:-1])
    period = np.cumsum(opens) - 1
    first = np.flatnonzero(opens)
    length = np.maximum.reduceat(end[order], first) - begin[order][first]
    weight = size_bytes[order].astype(np.float64)
    if (weight <= 0).any():
        weight = np.maximum(end - begin, 1.0)[order]
    out[order] = length[period] * weight / np.bincount(period, weight)[period]
    return out


def _without(spreads: Spreads, works: npt.NDArray[np.int32]) -> Spreads:
    """The spreads of all other works: what these took was not theirs alone."""
    kept = ~np.isin(spreads.work, works)
    return Spreads(
        work=spreads.work[kept],
        kind=spreads.kind[kept],
        count=spreads.count[kept],
        mean_ns=spreads.mean_ns[kept],
        deciles_ns=spreads.deciles_ns.reshape(-1, DECILES)[kept].reshape(-1),
    )
