"""How long each op takes in one playing: typically, in one recorded step, or in a drawn one.

Typical is the mean over the recorded steps, op by op. Durations on the way to the end of a step
add up, and only means add; medians of skewed times sum to less than the median step. Op by op,
since a straggler is what its peers are not. What means lack, the rise of a maximum over workers
that jitter, draws have: each work of each worker draws one of its own recorded values, or where
these are few, a point of the spread of that work on its kind of machine. A collective draws once
for all its members. Where no step tells, the spread's mean stands in.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import (
    DECILES,
    F64,
    I64,
    TALKING,
    Graph,
    ModelError,
    Profile,
    Spreads,
    Times,
)
from paceline.simulate.observed import Observed, Structure, observed, structure
from paceline.simulate.placement import worker_rows
from paceline.simulate.sound import unknown

FEW = DECILES - 1  # recorded steps below which a spread says more than they


def times(profile: Profile, *, seed: int | None = None, step: int | None = None) -> Times:
    """Own work and lead of every op: typical, drawn by `seed`, or of the step `measured[step]`."""
    if step is not None and not 0 <= step < len(profile.measured):
        raise ModelError(
            f"Step {step} is not among the {len(profile.measured)} measured steps.",
            expected="Steps are counted from 0.",
        )
    known = structure(profile.graph)
    if step is not None:
        own = observed(known, profile.measured[step])
        return _filled(profile, own if _complete(own) else _first(own, _typical(profile, known)))
    own = _typical(profile, known)
    if seed is None:
        return _filled(profile, own)
    chance = _chances(profile.graph, known, seed)
    return _filled(profile, _first(_drawn(profile, known, chance), own))


def _typical(profile: Profile, known: Structure) -> Observed:
    """The means over the recorded steps."""
    ops = len(profile.graph)
    sums = [np.zeros(ops), np.zeros(ops)]
    counts = [np.zeros(ops), np.zeros(ops)]
    for line in profile.measured:
        for values, total, count in zip(observed(known, line), sums, counts, strict=True):
            there = ~np.isnan(values)
            total[there] += values[there]
            np.add(count, there, out=count)
    means = [
        np.where(n > 0, total / np.maximum(n, 1), np.nan)
        for total, n in zip(sums, counts, strict=True)
    ]
    return Observed(*means)


def _drawn(profile: Profile, known: Structure, chance: F64) -> Observed:
    """A recorded value of each op's own, or a point of its spread where few steps are recorded."""
    ops, steps = len(profile.graph), len(profile.measured)
    if steps < FEW:
        rows = _rows(profile, profile.durations), _rows(profile, profile.leads)
        spreads = profile.durations, profile.leads
        return Observed(*(_point(s, row, chance) for s, row in zip(spreads, rows, strict=True)))
    out = Observed(np.full(ops, np.nan), np.full(ops, np.nan))
    choice = np.minimum((chance * steps).astype(np.int64), steps - 1)
    for at, line in enumerate(profile.measured):
        mine = choice == at
        for values, kept in zip(observed(known, line), out, strict=True):
            kept[mine] = values[mine]
    return out


def _point(spreads: Spreads, row: I64, chance: F64) -> F64:
    """The spread's value at each chance, on straight lines between its deciles."""
    out = np.full(len(row), np.nan)
    some = np.flatnonzero(row >= 0)
    table = spreads.deciles_ns.reshape(-1, DECILES)
    place = chance[some] * (DECILES - 1)
    low = np.minimum(place.astype(np.int64), DECILES - 2)
    below, above = table[row[some], low], table[row[some], low + 1]
    out[some] = below + (above - below) * (place - low)
    return out


def _rows(profile: Profile, spreads: Spreads) -> I64:
    """The row of each op's work on its worker's kind of machine, -1 where there is none."""
    graph, kinds = profile.graph, len(profile.kinds) + 1
    kind_of = {worker.rank: worker.kind for worker in profile.workers}
    by_worker = np.array([kind_of.get(rank, kinds - 1) for rank in graph.workers], dtype=np.int64)
    if not len(spreads) or not len(graph):
        return np.full(len(graph), -1, dtype=np.int64)
    key = spreads.work.astype(np.int64) * kinds + spreads.kind
    order = np.argsort(key, kind="stable")
    wanted = graph.work.astype(np.int64) * kinds + by_worker[worker_rows(graph)]
    found = order[np.searchsorted(key[order], wanted).clip(max=len(key) - 1)]
    return np.where(key[found] == wanted, found, -1)


def _filled(profile: Profile, own: Observed) -> Times:
    """Times in whole ns; what is not known yet takes the mean of its spread."""
    graph = profile.graph
    if not _complete(own):
        means = (
            _mean(profile.durations, _rows(profile, profile.durations)),
            _mean(profile.leads, _rows(profile, profile.leads)),
        )
        own = _first(own, Observed(*means))
    lost = np.flatnonzero(np.isnan(own.duration_ns))
    silent = lost[~np.isin(graph.kind[lost], TALKING)]
    if len(silent):
        raise unknown(graph, silent)
    duration = np.where(np.isnan(own.duration_ns), -1, np.rint(own.duration_ns))
    return Times(
        duration_ns=duration.astype(np.int64),
        lead_ns=np.rint(np.nan_to_num(own.lead_ns)).astype(np.int64),
    )


def _mean(spreads: Spreads, row: I64) -> F64:
    out = np.full(len(row), np.nan)
    out[row >= 0] = spreads.mean_ns[row[row >= 0]]
    return out


def _complete(own: Observed) -> bool:
    return not any(np.isnan(values).any() for values in own)


def _first(own: Observed, other: Observed) -> Observed:
    """What the first knows, else what the other knows."""
    return Observed(
        *(np.where(np.isnan(mine), yours, mine) for mine, yours in zip(own, other, strict=True))
    )


def _chances(graph: Graph, known: Structure, seed: int) -> F64:
    """A number in [0, 1) for each work of each worker, and one for all members of a collective."""
    key = graph.work.astype(np.uint64) << np.uint64(32) | graph.worker.astype(np.uint64)
    key[known.meets] = graph.match[known.meets].astype(np.uint64) | np.uint64(2**63)
    mixed = _mixed(key + _mixed(np.array([seed % 2**64], dtype=np.uint64)))
    return (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(key: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """splitmix64 (Steele, Lea and Flood 2014): every bit of the key sways every bit out."""
    key = key + np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ key >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ key >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return key ^ key >> np.uint64(31)
