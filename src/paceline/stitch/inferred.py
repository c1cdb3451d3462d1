"""Who takes part in collectives that name no group: workers that do the same.

A worker's signature is the set of names of its collectives and, where every trace has enough steps,
how often each occurs in a typical step; workers of one signature are one cluster.
"""

import numpy as np

from paceline.model import I64
from paceline.stitch.meeting import packed, runs

_ENOUGH = 3  # steps, of which the first and the last may be recorded in part


def clusters(trace: I64, name: I64, step: I64) -> I64:
    """The cluster of each row, by its trace; numbered from 0."""
    if not len(trace):
        return trace
    own = runs(trace)
    steps_each = [len(np.unique(part[part >= 0])) for part in _parts(step, own.order, own.first)]
    counted = min(steps_each) >= _ENOUGH
    signatures: dict[tuple[tuple[int, int], ...], int] = {}
    numbers = [
        signatures.setdefault(_signature(names, steps, counted=counted), len(signatures))
        for names, steps in zip(
            _parts(name, own.order, own.first), _parts(step, own.order, own.first), strict=True
        )
    ]
    return np.array(numbers, dtype=np.int64)[own.run]


def _parts(column: I64, order: I64, first: I64) -> list[I64]:
    return np.split(column[order], first[1:-1])


def _signature(name: I64, step: I64, *, counted: bool) -> tuple[tuple[int, int], ...]:
    names = np.unique(name)
    if not counted:
        return tuple((int(one), 0) for one in names)
    inside = step >= 0
    cells = runs(packed(name[inside], step[inside]))
    head = cells.heads
    typical = runs(name[inside][head])
    middles = {
        int(name[inside][head][rows[0]]): int(np.median(cells.counts[rows]))
        for rows in np.split(typical.order, typical.first[1:-1])
    }
    return tuple((int(one), middles.get(int(one), 0)) for one in names)
