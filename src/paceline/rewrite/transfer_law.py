"""Fits how the time of collectives depends on their size: time = latency + size * time per byte.

From what the profile measured of a group, where its sizes differ by a factor of two or more,
weighing relative errors; else from the times at hand; else from the cluster, as a ring (or the
algorithm named) over its slowest link. Sizes that are alike tell no latency: `assumed` then counts
all of the time as bytes, and says so, unless a cluster is there to play them on. Where no size is
known, what needs a law is refused.
"""

import numpy as np

from paceline.model import DECILES, F64, I64, OPERATIONS, Edit, Graph, Group, InputError, Times
from paceline.rewrite.closed_form import terms
from paceline.rewrite.laws import Laws
from paceline.rewrite.operation import works_of
from paceline.rewrite.routes import Routes
from paceline.rewrite.state import State, begun
from paceline.rewrite.transfers import Transfers, transfers

_SPREAD = 2.0  # largest over smallest size from which a slope is more than noise


def lawful(state: State) -> Laws:
    """The laws of a state: kept from an earlier edit, or fitted now."""
    if state.laws is not None:
        return state.laws
    found = transfers(state)
    rows = (len(state.graph.groups) + 1) * len(OPERATIONS)
    latency, per_byte = np.full((2, rows), np.nan)
    _from_profile(state, found, latency, per_byte)
    if np.isnan(latency[found.row]).any():
        own = fitted(found.row, found.size_bytes, found.duration_ns, rows)
        per_byte[:] = np.where(np.isnan(latency), own[1], per_byte)
        latency[:] = np.where(np.isnan(latency), own[0], latency)
    if state.cluster is not None:
        _from_cluster(state, found, latency, per_byte)
    return Laws(latency_ns=latency, ns_per_byte=per_byte)


def assumed(state: State, found: Transfers) -> tuple[State, Laws]:
    """The laws, those of collectives of one size by assumption, and the state that notes it."""
    laws = lawful(state)
    open_rows = np.isnan(laws.latency_ns)
    told = open_rows[found.row] & (found.size_bytes > 0) & (found.duration_ns > 0)
    if state.cluster is not None or not told.any():
        return state, laws
    latency, per_byte = laws.latency_ns.copy(), laws.ns_per_byte.copy()
    row, size = found.row[told], found.size_bytes[told]
    each = found.duration_ns[told] / size
    for at in np.unique(row):
        latency[at], per_byte[at] = 0.0, np.median(each[row == at])
    noted = state.noting(
        "no-latency", "collectives of sizes alike: all of their time counts as bytes", len(row)
    )
    return noted, Laws(latency_ns=latency, ns_per_byte=per_byte)


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


def _from_profile(state: State, found: Transfers, latency: F64, per_byte: F64) -> None:
    """Fills in what the profile measured of the same group, by the medians of all its steps."""
    profile = state.profile
    if not len(profile.durations):
        return
    order = np.argsort(profile.durations.count, kind="stable")  # the kind measured most has it
    median = profile.durations.deciles_ns.reshape(-1, DECILES)[order, DECILES // 2]
    by_work = np.full(len(profile.graph.works), -1, dtype=np.int64)
    by_work[profile.durations.work[order]] = np.rint(median)
    duration = by_work[profile.graph.work]
    times = Times(duration_ns=duration, lead_ns=np.zeros(len(duration), np.int64))
    measured = transfers(begun(profile.graph, times, profile, None))
    rows = (len(profile.graph.groups) + 1) * len(OPERATIONS)
    known = fitted(measured.row, measured.size_bytes, measured.duration_ns, rows)
    theirs = _shared(profile.graph, measured)
    for key, row in _shared(state.graph, found).items():
        if key in theirs:
            latency[row], per_byte[row] = known[0][theirs[key]], known[1][theirs[key]]


def _shared(graph: Graph, found: Transfers) -> dict[tuple[Group | None, int, str | None], int]:
    """The row of each group, operation and algorithm; another one has another law."""
    row, first = np.unique(found.row, return_index=True)
    works = works_of(graph, found.op[first])
    groups = (*graph.groups, None)
    return {
        (groups[int(at) // len(OPERATIONS)], int(at) % len(OPERATIONS), work.algorithm): int(at)
        for at, work in zip(row, works, strict=True)
    }


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
