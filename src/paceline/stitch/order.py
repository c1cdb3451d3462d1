"""Matches events that carry no key: the k-th of a name (and size) meets the k-th elsewhere.

Rows come in with a cluster (those who meet) and a slot (worker or side), each slot in its own
order. Counting starts anew in each step, so that a step recorded in part shifts nothing. Where
counts differ, sequences are paired in order and by time, and what is left stays unmatched.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import I64, UNKNOWN
from paceline.stitch.bundles import bundles
from paceline.stitch.lag import Lag, Line, differences, lag_between, scatter
from paceline.stitch.meeting import met, packed, runs
from paceline.stitch.pairing import out_of_step, pairs

BOOL = npt.NDArray[np.bool_]
_NEAREST = 32  # settled neighbors that tell the lag of a bundle


@dataclass(frozen=True, slots=True)
class Unkeyed:
    """Rows to be matched by order; equal `name` is required, equal `size_bytes` where possible."""

    cluster: I64
    slot: I64
    step: I64
    name: I64
    size_bytes: I64
    end_ns: I64

    def __len__(self) -> int:
        return len(self.cluster)

    def line(self, rows: I64, name: I64) -> Line:
        """Some rows as a sequence, under the names given."""
        return Line(name, self.size_bytes[rows], self.end_ns[rows])


def matched(rows: Unkeyed) -> I64:
    """The number of each row's match, -1 for rows that meet nobody."""
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    bundle = bundles(rows.cluster, rows.slot, rows.step)
    by_name = packed(rows.cluster, bundle, rows.name)
    by_size = packed(by_name, rows.size_bytes)
    present = packed(rows.cluster, bundle)
    same_names = equal_counts(by_name, rows.slot, present)
    unequal_sizes = ~equal_counts(by_size, rows.slot, present)
    named = runs(by_name)
    mixed = (np.bincount(named.run[unequal_sizes], minlength=len(named.counts)) > 0)[named.run]
    settled = same_names & ~_out_of_step(rows, bundle)
    key = np.where(mixed, by_name, by_size + by_name.max() + 1)
    number = np.full(len(rows), -1, dtype=np.int64)
    number[settled] = met(key[settled], rows.slot[settled], np.zeros(int(settled.sum()), np.bool_))
    _pair_the_rest(rows, bundle, settled, number)
    return number


def equal_counts(key: I64, slot: I64, present: I64) -> BOOL:
    """Rows whose key occurs equally often in every slot that is present."""
    here, each = runs(key), runs(packed(key, slot))
    first = each.heads
    of_key = here.run[first]
    slots = np.bincount(of_key, minlength=len(here.counts))
    attending = runs(packed(present, slot))
    everyone = runs(present)
    first_present = attending.heads
    expected = np.bincount(everyone.run[first_present], minlength=len(everyone.counts))
    fewest = np.full(len(here.counts), np.iinfo(np.int64).max)
    np.minimum.at(fewest, of_key, each.counts)
    most = np.zeros(len(here.counts), dtype=np.int64)
    np.maximum.at(most, of_key, each.counts)
    same = (fewest == most)[here.run]
    return same & (slots[here.run] == expected[everyone.run])


def _out_of_step(rows: Unkeyed, bundle: I64) -> BOOL:
    """Rows of clusters without steps whose k-th events plainly do not belong together."""
    out = np.zeros(len(rows), dtype=np.bool_)
    clusters = runs(rows.cluster)
    one = np.ones(len(clusters.counts), dtype=np.bool_)
    np.logical_and.at(one, clusters.run, bundle == 0)
    for cluster in np.flatnonzero(one):
        own = clusters.order[clusters.first[cluster] : clusters.first[cluster + 1]]
        parts = _by_slot(rows, own)
        reference = rows.line(parts[0], rows.name[parts[0]])
        for part in parts[1:]:
            out[own] |= out_of_step(reference, rows.line(part, rows.name[part]))
    return out


def _by_slot(rows: Unkeyed, own: I64) -> list[I64]:
    """The rows of each slot, the longest first."""
    slots = runs(rows.slot[own])
    parts = np.split(own[slots.order], slots.first[1:-1])
    return sorted(parts, key=len, reverse=True)


def _pair_the_rest(rows: Unkeyed, bundle: I64, settled: BOOL, number: I64) -> None:
    """Fills in the matches of bundles in which something is not settled."""
    own = runs(packed(rows.cluster, bundle))
    clusters = runs(rows.cluster)
    begins = _begins(rows, bundle)
    fresh = int(number.max()) + 1
    neighbors: dict[int, Neighbors] = {}
    for run in np.unique(own.run[~settled]):
        here = own.order[own.first[run] : own.first[run + 1]]
        cluster = int(clusters.run[here[0]])
        if cluster not in neighbors:
            every = clusters.order[clusters.first[cluster] : clusters.first[cluster + 1]]
            known = every[settled[every] & (number[every] >= 0)]
            neighbors = {cluster: Neighbors(rows, bundle, number, known)}
        parts = _by_slot(rows, here)
        _pair_parts(neighbors[cluster], number, parts, fresh, from_end=bool(begins[here[0]]))
        fresh += len(parts[0])


def _begins(rows: Unkeyed, bundle: I64) -> BOOL:
    """Rows in the first bundle that their whole cluster knows, which is often recorded in part."""
    clusters = runs(rows.cluster)
    latest = np.full(len(clusters.counts), np.iinfo(np.int64).min)
    lanes = runs(packed(rows.cluster, rows.slot))
    first = np.full(len(lanes.counts), np.iinfo(np.int64).max)
    np.minimum.at(first, lanes.run, bundle)
    np.maximum.at(latest, clusters.run[lanes.heads], first)
    return bundle <= latest[clusters.run]


class Neighbors:
    """Settled matches of a cluster, from which the lag between two slots is known."""

    def __init__(self, rows: Unkeyed, bundle: I64, number: I64, known: I64) -> None:
        self.rows, self.bundle, self.number = rows, bundle, number.copy()
        slots = runs(rows.slot[known])
        parts = np.split(known[slots.order], slots.first[1:-1])
        self.of_slot = {int(rows.slot[part[0]]): part for part in parts if len(part)}

    def lag(self, a: int, b: int, bundle: int) -> Lag | None:
        """How far slot b's clock is ahead of slot a's near a bundle, None where nothing tells."""
        none = np.empty(0, dtype=np.int64)
        from_a, from_b = self.of_slot.get(a, none), self.of_slot.get(b, none)
        _, at_a, at_b = np.intersect1d(
            self.number[from_a], self.number[from_b], assume_unique=True, return_indices=True
        )
        rows_a, rows_b = from_a[at_a], from_b[at_b]
        end_ns = self.rows.end_ns
        known = (end_ns[rows_a] != UNKNOWN) & (end_ns[rows_b] != UNKNOWN)
        if not known.any():
            return None
        near = np.abs(self.bundle[rows_a[known]] - bundle)
        chosen = np.flatnonzero(known)[np.argsort(near, kind="stable")[:_NEAREST]]
        base, apart = differences(end_ns[rows_a[chosen]], end_ns[rows_b[chosen]])
        return Lag(base + round(float(np.median(apart))), scatter(apart))


def _pair_parts(
    neighbors: Neighbors, number: I64, parts: list[I64], fresh: int, *, from_end: bool
) -> None:
    """Pairs every slot's part of a bundle with the longest, by order and time."""
    rows, longest = neighbors.rows, parts[0]
    line = _held(rows, number, longest)
    waiting = number[longest] < 0
    paired = np.zeros(len(longest), dtype=np.bool_)
    bundle, slot = int(neighbors.bundle[longest[0]]), int(rows.slot[longest[0]])
    for part in parts[1:]:
        other = _held(rows, number, part)
        lag = neighbors.lag(slot, int(rows.slot[part[0]]), bundle) or lag_between(line, other)
        at_a, at_b = pairs(line, other, lag, from_end=from_end)
        new = waiting[at_a] & (number[part[at_b]] < 0)
        number[part[at_b[new]]] = fresh + at_a[new]
        paired[at_a[new]] = True
    number[longest[paired]] = fresh + np.flatnonzero(paired)


def _held(rows: Unkeyed, number: I64, part: I64) -> Line:
    """A part as a sequence in which settled rows keep their partners and hold the others."""
    known = number[part]
    return rows.line(part, np.where(known >= 0, -2 - known, rows.name[part]))
