"""How long each message of the recorded steps was under way, without waiting for either side.

A message is under way from when both of its sides were there until it was received. One that was
handed over before its receiver came tells nothing: it may have lain in a buffer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, UNKNOWN, Columns, Profile
from paceline.stitch.fit import Recorded
from paceline.stitch.fold import evenly

_ROWS = 2**20  # transfers that are looked at, over all steps
_FEW = 8  # steps that are looked at, however many transfers they hold


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transfers(Columns):
    """One message in one step a row; `message` counts the messages of a step.

    `crossed` is 1 where the time runs from an event of the sender, on its clock, and 0 where both
    ends of it were read on the receiver's.
    """

    message: I64
    step: I64
    size_bytes: I64
    time_ns: I64
    crossed: I64

    def __len__(self) -> int:
        return len(self.message)


def under_way(profile: Profile) -> Transfers:
    """The transfers of all messages whose size is known."""
    graph = profile.graph
    recorded = Recorded(graph)
    receive, send = recorded.receives, recorded.sends
    size = np.maximum(graph.size_bytes[send], graph.size_bytes[receive])  # either may know it
    parts: list[I64] = []
    for number, (start, end) in enumerate(steps(profile, len(receive))):
        there = (start[receive] != UNKNOWN) & (start[send] != UNKNOWN)
        begun = np.maximum(start, recorded.free(np.where(start != UNKNOWN, end, 0)))
        came, sent = begun[receive], begun[send]
        time = end[receive] - np.maximum(came, sent)
        crossed = (sent >= came).astype(np.int64)
        rows = np.flatnonzero(there & (size >= 0) & (end[send] > came) & (time > 0))
        parts.append(np.stack((rows, np.full(len(rows), number), time[rows], crossed[rows])))
    message, step, time, crossed = np.concatenate(
        [*parts, np.empty((4, 0), dtype=np.int64)], axis=1
    )
    return Transfers(
        message=message, step=step, size_bytes=size[message], time_ns=time, crossed=crossed
    )


def steps(profile: Profile, transfers: int) -> Iterator[tuple[I64, I64]]:
    """Starts and ends of ops in the measured steps; of so many transfers, in evenly chosen ones."""
    most = max(_ROWS // max(transfers, 1), _FEW)
    for at in evenly(len(profile.measured), most):
        line = profile.measured[int(at)]
        yield line.start_ns, line.end_ns


def clock_errors_ns(profile: Profile) -> F64:
    """By op, how far its worker's clock may be off the first one's; endless where not tied."""
    bars = {
        clock.worker: np.inf if clock.error_ns is None else clock.error_ns
        for clock in profile.alignment
    }
    ranks, place = np.unique(profile.graph.worker, return_inverse=True)
    return np.array([bars.get(rank, np.inf) for rank in ranks.tolist()])[place]


def machine_names(profile: Profile) -> list[str]:
    """The machines of the job, each once."""
    return list(dict.fromkeys(worker.machine for worker in profile.workers))


def machines(profile: Profile) -> I64:
    """By op, the machine of its worker, as a position in `machine_names`."""
    at = {name: number for number, name in enumerate(machine_names(profile))}
    of_rank = {worker.rank: at[worker.machine] for worker in profile.workers}
    ranks, place = np.unique(profile.graph.worker, return_inverse=True)
    return np.array([of_rank[rank] for rank in ranks.tolist()], dtype=np.int64)[place]
