"""What an op usually takes: of itself over the steps, and of its peers.

Peers of an op are the ops of the same work on other workers. The shift from an op's own usual time
to its peers' is what is systematic about a slow worker; noise from step to step is left as it is.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

FOREIGN = 0.5  # share of an op's usual time


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """By op: its own median over steps, and the median of its peers' (own where it has none)."""

    own: F64
    peers: F64

    @property
    def shift(self) -> F64:
        """By how much an op is usually longer than its peers."""
        return self.own - self.peers

    @property
    def foreign(self) -> Mask:
        """Ops that take most of their time beyond their peers': what varies there is the excess."""
        return self.shift > FOREIGN * self.own

    def excess(self, values: F64) -> F64:
        """How much longer than its peers each op is in steps of these values.

        The shift; but where most of an op's time is excess, the excess varies as the op does.
        """
        part = np.where(self.foreign, values / np.maximum(self.own, 1.0), 1.0)
        return self.shift * part


def usual(values: F64, work: I32, extra: npt.NDArray[np.bool_]) -> Usual:
    """The usual values of a (step, op) table; peers spend nothing on work that is `extra`."""
    own = columnwise_median(values)
    return Usual(own=own, peers=np.where(extra, 0.0, median_of_others(own, work)))


def columnwise_median(values: F64) -> F64:
    """The median of each column without its NaN; 0 for a column of nothing else."""
    ordered = np.sort(values, axis=0)  # NaN go last
    count = np.isfinite(values).sum(axis=0)
    column = np.arange(values.shape[1], dtype=np.int64)
    low = ordered[np.maximum((count - 1) // 2, 0), column]
    high = ordered[np.minimum(count // 2, len(values) - 1), column]
    return np.where(count > 0, (low + high) / 2, 0.0)


def median_of_others(values: F64, group: I32) -> F64:
    """For each element the median of the others of its group; itself where it is alone.

    Leaving itself out matters with few workers: between two, the median of both would hide half
    of what one of them is slow.
    """
    if not len(values):
        return values.copy()
    order = np.lexsort((values, group))
    grouped, ordered = group[order], values[order]
    first = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]])
    size = np.diff(np.r_[first, len(group)])
    start, count = np.repeat(first, size), np.repeat(size, size)
    rank = np.arange(len(group)) - start
    low, high = (count - 2) // 2, (count - 1) // 2  # middle of the count - 1 others
    low, high = low + (low >= rank), high + (high >= rank)
    alone = count == 1
    low, high = np.where(alone, 0, low), np.where(alone, 0, high)
    out = np.empty_like(values)
    out[order] = (ordered[start + low] + ordered[start + high]) / 2
    return out
