"""The order in which a worker's program issued its operations, where that order binds them.

A message or collective that runs beside computation does not hold up the program; which kinds do
is seen from the times. All others follow one another. A combined exchange, whose sends and
receives are recorded with equal times, counts as one operation.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from paceline.model import I64, Kind
from paceline.read.pipeline_rows import Rows
from paceline.read.pipeline_works import Work

JITTER_NS = 20_000  # by which clocks of host and device may disagree
SLACK = 0.05  # of the shorter one, by which two operations may overlap and still be in order
SHARE = 0.01  # of the cases, that may contradict a rule
_EXCHANGE = 4  # a combined exchange has at most a send and a receive each way


def program(rows: Rows, works: Sequence[Work]) -> Iterator[tuple[I64, I64]]:
    """Pairs of each operation and those right before it, for each two kinds of operation."""
    own = np.flatnonzero(~_free(rows, works)[rows.work])
    if not len(own):
        return
    keys = np.stack((rows.rank, rows.step, rows.start_ns, rows.end_ns))[:, own]
    changed = np.ones((4, len(own)), np.bool_)
    changed[:, 1:] = keys[:, 1:] != keys[:, :-1]
    fresh = np.logical_or.reduce(changed)
    slot = np.cumsum(fresh) - 1
    firsts = np.flatnonzero(fresh)
    sizes = np.diff(np.append(firsts, len(own)))
    begins = np.logical_or(changed[0], changed[1])[firsts]  # the first slot of a worker's step
    owners: list[I64] = []
    targets: list[I64] = []
    for part in range(_EXCHANGE):
        there = ~begins[slot] & (sizes[slot - 1] > part)
        owners.append(own[there])
        targets.append(own[firsts[slot[there] - 1] + part])
    owner, target = np.concatenate(owners), np.concatenate(targets)
    kinds = rows.work[owner] * len(works) + rows.work[target]
    order = np.argsort(kinds, kind="stable")
    for pick in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
        yield owner[pick], target[pick]


def _free(rows: Rows, works: Sequence[Work]) -> npt.NDArray[np.bool_]:
    """Which works run beside computation; messages all do or none does."""
    kinds = np.array([work.kind for work in works])
    computes = np.flatnonzero(kinds[rows.work] == Kind.COMPUTE)
    families = [np.isin(kinds, (Kind.SEND, Kind.RECV))]
    families += [np.arange(len(works)) == at for at in np.flatnonzero(kinds == Kind.COLLECTIVE)]
    out = np.zeros(len(works), np.bool_)
    for family in families:
        own = np.flatnonzero(family[rows.work])
        if len(own) and float(np.mean(_beside(rows, own, computes))) > SHARE:
            out |= family
    return out


def _beside(rows: Rows, own: I64, computes: I64) -> npt.NDArray[np.bool_]:
    """Which of the rows overlap a computation of their worker by more than jitter."""
    slack = ((rows.end_ns[own] - rows.start_ns[own]) * SLACK).astype(np.int64)
    slack = np.maximum(slack, JITTER_NS)
    # computations by their start and the rows by the moment before their end, in one order
    rank = rows.rank[np.concatenate((computes, own))]
    moment = np.concatenate((rows.start_ns[computes], rows.end_ns[own] - slack))
    order = np.lexsort((moment, rank))
    before = np.full(len(order), -1, np.int64)
    before[order] = np.maximum.accumulate(np.where(order < len(computes), order, -1))
    before = before[len(computes) :]
    there = before >= 0
    there[there] = rank[before[there]] == rows.rank[own][there]
    there[there] = rows.end_ns[computes[before[there]]] > (rows.start_ns[own] + slack)[there]
    return there
