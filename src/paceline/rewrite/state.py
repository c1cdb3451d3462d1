"""What edits turn into one another: the graph, its times, and how both came from the original.

Frozen; an edit returns a new one. `origin` is ragged: op i of the graph stands for the ops
`origin_op[origin_from[i]:origin_from[i + 1]]` of the graph that came in.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import (
    F64,
    I32,
    I64,
    TALKING,
    Cluster,
    Edit,
    Graph,
    InputError,
    Note,
    Profile,
    Times,
)
from paceline.rewrite.laws import Laws
from paceline.rewrite.placement import recorded

LONGEST_NS = 2.0**62  # so that no sum of times overflows


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A job on its way through edits; `laws` are known once an edit has needed them.

    `machines` says where each rank is, as far as that is known.
    """

    graph: Graph
    times: Times
    profile: Profile
    cluster: Cluster | None
    machines: dict[int, str]
    origin_from: I64
    origin_op: I32
    laws: Laws | None = None
    notes: tuple[Note, ...] = ()

    def timed(self, *, duration_ns: I64 | None = None, lead_ns: I64 | None = None) -> "State":
        """The same job with other times."""
        times = Times(
            duration_ns=self.times.duration_ns if duration_ns is None else duration_ns,
            lead_ns=self.times.lead_ns if lead_ns is None else lead_ns,
        )
        return dataclasses.replace(self, times=times)

    def noting(self, code: str, text: str, count: int = 1) -> "State":
        """The same job, with something that an edit had to assume."""
        note = Note(code=code, text=text, count=count)
        return dataclasses.replace(self, notes=(*self.notes, note))


def whole_ns(values: F64, edit: Edit) -> I64:
    """Times rounded to whole nanoseconds; InputError if together they go beyond all reason."""
    if float(values.sum()) > LONGEST_NS:
        raise InputError(
            "makes a step of more than a hundred years.",
            where=edit,
            expected="All times of a step must be a whole number of ns together.",
            cure="Use a factor nearer to 1.",
        )
    return np.rint(values).astype(np.int64)


def begun(graph: Graph, times: Times, profile: Profile, cluster: Cluster | None) -> State:
    """The state before the first edit: every op stands for itself."""
    return State(
        graph=graph,
        times=times,
        profile=profile,
        cluster=cluster,
        machines=recorded(profile, cluster),
        origin_from=np.arange(len(graph) + 1, dtype=np.int64),
        origin_op=np.arange(len(graph), dtype=np.int32),
    )


def talks(graph: Graph) -> npt.NDArray[np.bool_]:
    """Which ops are communication."""
    return np.isin(graph.kind, TALKING)


def awaits_nothing(graph: Graph) -> npt.NDArray[np.bool_]:
    """Which ops are the first on their lane and after nothing: the step begins with them."""
    first = np.full(len(graph.workers) * len(graph.lanes), len(graph), dtype=np.int64)
    device = devices(graph)
    backward = np.arange(len(graph))[::-1]
    first[device[backward]] = backward
    out = np.zeros(len(graph), dtype=bool)
    out[first[first < len(graph)]] = True
    return out & (np.diff(graph.after_from) == 0)


def devices(graph: Graph) -> I64:
    """The device of each op as a small number: one for each lane of each worker."""
    ranks = np.array(sorted(graph.workers), dtype=np.int64)
    return np.searchsorted(ranks, graph.worker) * len(graph.lanes) + graph.lane
