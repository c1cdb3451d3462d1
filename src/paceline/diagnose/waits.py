"""Wait and transfer apart: what each worker did in the measured steps.

All workers leave a collective together, so a slow worker hides: its own collective is short and
everybody else's is long. The transfer of a collective is its shortest duration over the members
(all have arrived); what a member spends beyond that it waited.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import UNKNOWN, Graph, Kind, Profile, Timeline, Wait

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Rows by worker (as in graph.workers): medians over steps; collectives of one step."""

    per_worker: tuple[Wait, ...]
    collectives: int
    transfer_ns: float


def waits(profile: Profile) -> Waits:
    """Busy time, waiting and late arrivals of each worker in the median step."""
    graph = profile.graph
    row = {rank: at for at, rank in enumerate(graph.workers)}
    worker = np.array([row[int(rank)] for rank in graph.worker], dtype=np.int64)
    meets = np.flatnonzero((graph.kind == Kind.COLLECTIVE) & (graph.match >= 0))
    meets = meets[np.argsort(graph.match[meets], kind="stable")]
    device = _device_ops(graph)
    busy: list[F64] = []
    wait: list[F64] = []
    last: list[F64] = []
    transfer: list[F64] = []
    for line in profile.measured:
        busy.append(_busy(line, device, worker, len(row)))
        own, late, sent = _apart(graph, line, meets, worker, len(row))
        wait.append(own)
        last.append(late)
        transfer.append(sent)
    collectives = np.bincount(worker[meets], minlength=len(row))
    if not profile.measured:
        return Waits(per_worker=(), collectives=0, transfer_ns=0.0)
    busy_ns: F64 = np.median(np.array(busy), axis=0)
    wait_ns: F64 = np.median(np.array(wait), axis=0)
    arrives: F64 = np.median(np.array(last), axis=0)
    return Waits(
        per_worker=tuple(
            Wait(
                worker=rank,
                busy_ns=float(busy_ns[at]),
                wait_ns=float(wait_ns[at]),
                arrives_last=round(float(arrives[at])),
            )
            for rank, at in row.items()
        ),
        collectives=int(collectives.max(initial=0)),
        transfer_ns=float(np.median(np.array(transfer).max(axis=1))),
    )


def _device_ops(graph: Graph) -> I64:
    """Ops on the device: kernels and copies; on workers without such, all that is not talk."""
    kernels = np.isin(graph.kind, (Kind.COMPUTE, Kind.COPY))
    return np.flatnonzero(kernels)


def _busy(line: Timeline, ops: I64, worker: I64, workers: int) -> F64:
    """Time with at least one of the ops running, by worker (overlaps count once)."""
    ops = ops[line.start_ns[ops] != UNKNOWN]
    order = ops[np.lexsort((line.start_ns[ops], worker[ops]))]
    if not len(order):
        return np.zeros(workers)
    who, start, end = worker[order], line.start_ns[order], line.end_ns[order]
    # running maximum of the ends, restarted at each worker by adding an ever larger base
    span = int(end.max() - start.min()) + 1
    base = who * span - int(start.min())
    reached = np.maximum.accumulate(end + base)
    begun = np.maximum(start + base, np.r_[start[0] + base[0], reached[:-1]])
    return np.bincount(who, np.maximum(end + base - begun, 0), workers).astype(np.float64)


def _apart(
    graph: Graph, line: Timeline, meets: I64, worker: I64, workers: int
) -> tuple[F64, F64, F64]:
    """Waiting, late arrivals and transfer by worker in one step."""
    meets = meets[line.start_ns[meets] != UNKNOWN]
    if not len(meets):
        return np.zeros(workers), np.zeros(workers), np.zeros(workers)
    match = graph.match[meets]
    first = np.flatnonzero(np.r_[True, match[1:] != match[:-1]])
    size = np.diff(np.r_[first, len(meets)])
    start, end = line.start_ns[meets], line.end_ns[meets]
    shortest = np.repeat(np.minimum.reduceat(end - start, first), size)
    latest = np.repeat(np.maximum.reduceat(start, first), size)
    several = np.repeat(size, size) > 1
    who = worker[meets]
    wait = np.bincount(who, (end - start - shortest) * several, workers).astype(np.float64)
    late = np.bincount(who[several & (start == latest)], minlength=workers).astype(np.float64)
    return wait, late, np.bincount(who, shortest, workers).astype(np.float64)
