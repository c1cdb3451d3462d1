"""Fits how the time of collectives depends on their size: time = latency + size * time per byte.

From the times at hand where a group has sizes that differ by a factor of two or more, weighing
relative errors; else from what the profile measured of it; else from the cluster, as a ring (or the
algorithm named) over its slowest link; else it is not known, and what needs it is refused.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.model import DECILES, F64, I64, Edit, Graph, InputError, Kind, Times
from paceline.rewrite.closed_form import terms
from paceline.rewrite.laws import Laws
from paceline.rewrite.operation import OPERATIONS, first_op, operations
from paceline.rewrite.routes import Routes
from paceline.rewrite.state import State, begun

_SPREAD = 2.0  # largest over smallest size from which a slope is more than noise


@dataclass(frozen=True, slots=True)
class Transfers:
    """Every collective of a state: its match, one op of it, its law's row, size and time.

    Size and time are -1 where one member does not know it; the time is that of the slowest member.
    `members` are the ops of all of them, match by match in order of workers, those of row i from
    `first[i]` on.
    """

    match: I64
    op: I64
    row: I64
    size_bytes: I64
    duration_ns: I64
    members: I64
    first: I64

    @property
    def counts(self) -> I64:
        """How many members each has."""
        return np.diff(self.first, append=len(self.members))

    def members_of(self, at: int) -> I64:
        """The ops of one collective."""
        last = self.first[at + 1] if at + 1 < len(self.first) else len(self.members)
        return self.members[self.first[at] : last]

    def workers_of(self, graph: Graph, at: int) -> tuple[int, ...]:
        """The workers of one collective, by rank."""
        return tuple(int(rank) for rank in graph.worker[self.members_of(at)])

    def spread(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value a collective, repeated for each of its members."""
        return np.repeat(values, self.counts)


def sizes(state: State) -> I64:
    """The bytes of each op: its own, else those of its work; -1 where neither is known."""
    graph = state.graph
    by_work = np.array(
        [-1 if w.size_bytes is None else w.size_bytes for w in graph.works], np.int64
    )
    if not len(by_work):
        return graph.size_bytes
    return np.where(graph.size_bytes >= 0, graph.size_bytes, by_work[graph.work])


def transfers(state: State) -> Transfers:
    """All collectives that have members."""
    graph = state.graph
    ops = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    first = first_op(graph, ops)
    match = np.flatnonzero(first >= 0)
    op = first[match].astype(np.int64)
    order = ops[np.lexsort((graph.worker[ops], graph.match[ops]))]
    starts = np.flatnonzero(np.diff(graph.match[order], prepend=-1))
    return Transfers(
        match=match,
        op=op,
        row=_rows(state, match, op),
        size_bytes=_over_members(sizes(state)[order], starts),
        duration_ns=_over_members(state.times.duration_ns[order], starts),
        members=order,
        first=starts,
    )


def _over_members(values: I64, starts: I64) -> I64:
    if not len(values):
        return values
    most = np.maximum.reduceat(values, starts)
    return np.where(np.minimum.reduceat(values, starts) < 0, -1, most)


def _rows(state: State, match: I64, op: I64) -> I64:
    graph = state.graph
    group = graph.match_group[match].astype(np.int64)
    group[group < 0] = len(graph.groups)
    if not len(op):
        return group
    return group * len(OPERATIONS) + operations(graph)[graph.work[op]]


def lawful(state: State) -> Laws:
    """The laws of a state: kept from an earlier edit, or fitted now."""
    if state.laws is not None:
        return state.laws
    found = transfers(state)
    rows = (len(state.graph.groups) + 1) * len(OPERATIONS)
    latency, per_byte = fitted(found.row, found.size_bytes, found.duration_ns, rows)
    if state.graph is not state.profile.graph:
        _from_profile(state, latency, per_byte)
    if state.cluster is not None:
        _from_cluster(state, found, latency, per_byte)
    return Laws(latency_ns=latency, ns_per_byte=per_byte)


def fitted(row: I64, size_bytes: I64, duration_ns: I64, rows: int) -> tuple[F64, F64]:
    """Latency and time per byte of each of `rows` rows, NaN where sizes are unknown or alike.

    Neither is negative: what takes no longer for more bytes is all latency.
    """
    known = (size_bytes >= 0) & (duration_ns >= 0)
    row, size, time = _medians(row[known], size_bytes[known], duration_ns[known])
    weight = 1.0 / np.maximum(time, 1.0) ** 2

    def total(values: F64) -> F64:
        return np.bincount(row, weight * values, rows).astype(np.float64)

    one, x, xx = total(np.ones_like(size)), total(size), total(size * size)
    y, xy = total(time), total(size * time)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (one * xy - x * y) / (one * xx - x * x)
        level = (y - slope * x) / one
        slope = np.where(level < 0, xy / xx, slope)
        level = np.where(slope <= 0, y / one, np.maximum(level, 0.0))
        slope = np.maximum(slope, 0.0)
    least, most = np.full(rows, np.inf), np.zeros(rows)
    np.minimum.at(least, row, size)
    np.maximum.at(most, row, size)
    fine = (most >= _SPREAD * least) & (most > 0) & (level + slope > 0)
    return np.where(fine, level, np.nan), np.where(fine, slope, np.nan)


def _medians(row: I64, size: I64, time: I64) -> tuple[I64, F64, F64]:
    """The median time of each (row, size)."""
    order = np.lexsort((time, size, row))
    row, size, time = row[order], size[order], time[order]
    first = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(size, prepend=-1))
    last = np.append(first[1:], len(row))
    middle = (time[(first + last - 1) // 2] + time[(first + last) // 2]) / 2
    return row[first], size[first].astype(np.float64), middle


def _from_profile(state: State, latency: F64, per_byte: F64) -> None:
    """Fills in the rows of groups whose sizes were changed before the graph came in."""
    profile, count = state.profile, len(OPERATIONS)
    if not len(profile.durations):
        return
    median = profile.durations.deciles_ns.reshape(-1, DECILES)[:, DECILES // 2]
    by_work = np.full(len(profile.graph.works), -1, dtype=np.int64)
    by_work[profile.durations.work] = np.rint(median)
    duration = by_work[profile.graph.work]
    times = Times(duration_ns=duration, lead_ns=np.zeros(len(duration), np.int64))
    found = transfers(begun(profile.graph, times, profile, None))
    groups = [*(group.name for group in profile.graph.groups), None]
    known = fitted(found.row, found.size_bytes, found.duration_ns, len(groups) * count)
    for at, group in enumerate((*(group.name for group in state.graph.groups), None)):
        if group in groups:
            own, theirs = slice(at * count, (at + 1) * count), groups.index(group) * count
            lost = np.isnan(latency[own])
            for column, values in zip((latency, per_byte), known, strict=True):
                column[own][lost] = values[theirs : theirs + count][lost]


def _from_cluster(state: State, found: Transfers, latency: F64, per_byte: F64) -> None:
    """Fills in the rows that no fit gave, where the cluster has links between all members."""
    if state.cluster is None:
        return
    routes = Routes(state.cluster)
    machine = state.machines
    _, first = np.unique(found.row, return_index=True)
    for at in first:
        row = int(found.row[at])
        members = found.workers_of(state.graph, int(at))
        if not np.isnan(latency[row]) or any(rank not in machine for rank in members):
            continue
        places = [machine[rank] for rank in members]
        paths = routes.ring(places)
        slowest = None if paths is None else routes.slowest(paths)
        if paths is None or slowest is None:
            continue
        algorithm = state.graph.works[int(state.graph.work[found.op[at]])].algorithm
        messages, load = terms(row % len(OPERATIONS), algorithm, len(members), len(set(places)))
        latency[row] = messages * max(routes.latency_ns(path) for path in paths)
        per_byte[row] = load * 1e9 / slowest


def predicted(laws: Laws, row: I64, size_bytes: I64) -> F64:
    """The law's time of collectives of these rows and sizes, NaN where it is not known."""
    time = laws.latency_ns[row] + laws.ns_per_byte[row] * size_bytes
    return np.where(size_bytes >= 0, time, np.nan)


def scaled(state: State, edit: Edit, duration_ns: I64, was: F64, becomes: F64) -> I64:
    """The times, each by the ratio of two predictions.

    Where no law is known the time is left to the cluster (-1); without one that is an error.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(was > 0, becomes / was, 1.0)
    lost = np.isnan(was) | np.isnan(becomes)
    if state.cluster is None and (lost & (duration_ns > 0)).any():
        raise InputError(
            "how long its collectives take by size is not known.",
            where=edit,
            expected="That takes sizes which differ by a factor of two in one group, or a cluster.",
            cure="Give a cluster file with the rates and latencies of the links.",
        )
    out = np.rint(duration_ns * np.where(lost, 1.0, ratio)).astype(np.int64)
    return np.where((duration_ns < 0) | (lost & (duration_ns > 0)), -1, out)
