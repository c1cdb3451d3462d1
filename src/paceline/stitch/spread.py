"""Values of many ops in many steps as spreads: count, mean, deciles by (work, machine kind)."""

import numpy as np

from paceline.model import DECILES, F64, I32, I64, Spreads


def spreads(work: I32, kind: I64, values: I64) -> Spreads:
    """One spread for each (work, kind) that has a value; values below 0 are not known.

    `values` has a row for each op, as `work` and `kind` do, and a column for each step.
    """
    kinds = int(kind.max(initial=0)) + 1
    group = np.repeat(work.astype(np.int64) * kinds + kind, values.shape[1])
    flat = values.reshape(-1)
    known = flat >= 0
    group, flat = _sorted(group[known], flat[known])
    found, first = np.unique(group, return_index=True)
    counts = np.diff(np.append(first, len(group)))
    means = np.add.reduceat(flat.astype(np.float64), first) / counts if len(first) else np.empty(0)
    return Spreads(
        work=(found // kinds).astype(np.int32),
        kind=(found % kinds).astype(np.int32),
        count=counts,
        mean_ns=means,
        deciles_ns=_deciles(flat, first, counts).reshape(-1),
    )


def _sorted(group: I64, values: I64) -> tuple[I64, I64]:
    """Both by group, then by value."""
    room = int(values.max(initial=0)) + 1
    if int(group.max(initial=0)) + 1 < 2**62 // room:  # one number sorts much faster than two
        packed = np.sort(group * room + values)
        return packed // room, packed % room
    order = np.lexsort((values, group))
    return group[order], values[order]


def _deciles(values: I64, first: I64, counts: I64) -> F64:
    """Deciles of each run of sorted values, linear between two of them."""
    place = np.linspace(0, 1, DECILES)[None, :] * (counts - 1)[:, None]
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, (counts - 1)[:, None])
    share = place - below
    low, high = values[first[:, None] + below], values[first[:, None] + above]
    return low + share * (high - low)
