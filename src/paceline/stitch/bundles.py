"""Cuts sequences of events into bundles within which the k-th meets the k-th.

A bundle is a step, or what happens between two steps; where the steps of a cluster are not known,
or are plainly counted otherwise on its slots, all its events are one bundle.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import I64
from paceline.stitch.meeting import packed, runs

_FEW = 4  # so few steps may all be recorded in part


def bundles(cluster: I64, slot: I64, step: I64) -> I64:
    """2 * step + 2 in a step, odd numbers between steps, 0 where steps do not help."""
    lanes, clusters = runs(packed(cluster, slot)), runs(cluster)
    filled = _filled(lanes.order, lanes.first, step)
    stepless = np.bincount(lanes.run[step >= 0], minlength=len(lanes.counts)) == 0
    helps = np.ones(len(clusters.counts), dtype=np.bool_)
    helps[clusters.run[lanes.heads[stepless]]] = False
    helps &= _agreeing(clusters.run, slot, filled)
    return np.where(helps[clusters.run], filled, 0)


def _filled(order: I64, first: I64, step: I64) -> I64:
    """Rows outside of steps get the odd number after the last step, or before the first."""
    ordered = step[order]
    known = np.flatnonzero(ordered >= 0)
    if not len(known):
        return np.zeros(len(step), dtype=np.int64)
    lane = np.repeat(np.arange(len(first) - 1), np.diff(first))
    before = np.searchsorted(known, np.arange(len(step)), side="right") - 1
    after = np.minimum(before + 1, len(known) - 1)
    previous = known[np.maximum(before, 0)]
    has_previous = (before >= 0) & (lane[previous] == lane)
    odd = np.where(has_previous, 2 * ordered[previous] + 3, 2 * ordered[known[after]] + 1)
    out = np.empty(len(step), dtype=np.int64)
    out[order] = np.where(ordered >= 0, 2 * ordered + 2, odd)
    return out


def _agreeing(cluster: I64, slot: I64, bundle: I64) -> npt.NDArray[np.bool_]:
    """Clusters whose steps are not plainly counted otherwise on each slot."""
    each = runs(packed(cluster, bundle, slot))
    head = each.heads
    shared = runs(packed(cluster, bundle)[head])
    fewest = np.full(len(shared.counts), np.iinfo(np.int64).max)
    np.minimum.at(fewest, shared.run, each.counts)
    most = np.zeros(len(shared.counts), dtype=np.int64)
    np.maximum.at(most, shared.run, each.counts)
    of_cluster = cluster[head[shared.heads]]
    several = shared.counts > 1
    number = int(cluster.max()) + 1
    known = np.bincount(of_cluster[several], minlength=number)
    equal = np.bincount(of_cluster[several & (fewest == most)], minlength=number)
    return (known < _FEW) | (4 * equal >= known)
