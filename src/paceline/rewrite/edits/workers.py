"""Plays a data-parallel job with more or fewer workers, each with the batch that it has now.

Fewer: the highest ranks go. More: new ranks are clones of the typical worker, the one whose own
work is the median. Collectives take what the closed form of their algorithm says for the new
number; a single worker does not communicate at all.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from paceline.model import OPERATIONS, Edit, Graph, Group, InputError, Kind, Phase, operation
from paceline.rewrite.bridge import free_of_talk
from paceline.rewrite.key import Key, Takes, whole
from paceline.rewrite.placement import with_more
from paceline.rewrite.renumber import cloned, kept
from paceline.rewrite.reshape import reshaped, shapes
from paceline.rewrite.state import State, talks
from paceline.rewrite.transfers import Transfers, transfers

NAME: str = "workers"
KEYS: tuple[Key, ...] = (
    Key(name="count", takes=Takes.COUNT, says="how many workers", required=True),
)
SAYS: str = "Plays a data-parallel job with more or fewer workers."

_MOST_OPS = 2**26


def apply(state: State, edit: Edit) -> State:
    """The state of the same job with another number of workers."""
    count, ranks = whole(edit, "count") or 1, sorted(state.graph.workers)
    if count == len(ranks):
        return state
    found = transfers(state)
    _check_data_parallel(state.graph, found, edit)
    if count == 1:
        return _without(_alone(state), ranks[1:])
    state = _with_times(state, edit, found, count)
    if count < len(ranks):
        return _without(state, ranks[count:])
    typical = _typical_worker(state)
    ops = np.flatnonzero(state.graph.worker == typical)
    if len(state.graph) + (count - len(ranks)) * len(ops) > _MOST_OPS:
        raise InputError(
            "makes too many ops.",
            where=edit,
            expected=f"A graph holds {_MOST_OPS} at most here.",
            cure="Ask for fewer workers.",
        )
    fresh = range(ranks[-1] + 1, ranks[-1] + 1 + count - len(ranks))
    state = cloned(state, ops, list(fresh))
    machines = with_more(state.machines, fresh, state.cluster)
    state = dataclasses.replace(state, machines=machines)
    return _with_workers(state, (*state.graph.workers, *fresh))


def _with_times(state: State, edit: Edit, found: Transfers, count: int) -> State:
    was = shapes(state, found)
    becomes = [
        shape._replace(members=count, machines=-(-shape.machines * count // shape.members))
        for shape in was
    ]
    return reshaped(state, edit, found, was, becomes)


def _alone(state: State) -> State:
    """The state without communication."""
    after_from, after_op = free_of_talk(state.graph)
    graph = dataclasses.replace(state.graph, after_from=after_from, after_op=after_op)
    return kept(dataclasses.replace(state, graph=graph), ~talks(graph))


def _without(state: State, gone: Sequence[int]) -> State:
    state = kept(state, ~np.isin(state.graph.worker, gone))
    left = set(state.graph.workers).difference(gone)
    machines = {rank: name for rank, name in state.machines.items() if rank in left}
    state = dataclasses.replace(state, machines=machines)
    return _with_workers(state, tuple(rank for rank in state.graph.workers if rank in left))


def _with_workers(state: State, workers: tuple[int, ...]) -> State:
    """The state with these workers, all of them in the groups that had all."""
    before = set(state.graph.workers)
    groups = tuple(_grown(group, workers, before) for group in state.graph.groups)
    return dataclasses.replace(
        state, graph=dataclasses.replace(state.graph, workers=workers, groups=groups)
    )


def _grown(group: Group, workers: tuple[int, ...], before: set[int]) -> Group:
    if group.members is None:
        return group
    now = set(workers)
    members = tuple(rank for rank in group.members if rank in now)
    if before <= set(group.members):
        members += tuple(rank for rank in workers if rank not in before)
    return replace(group, members=members)


def _typical_worker(state: State) -> int:
    """The worker whose own work takes the median time, the lower one of two."""
    ranks = np.array(sorted(state.graph.workers))
    own = np.where(talks(state.graph), 0, np.maximum(state.times.duration_ns, 0))
    worker = np.searchsorted(ranks, state.graph.worker)
    total = np.bincount(worker, own + state.times.lead_ns, minlength=len(ranks))
    return int(ranks[np.argsort(total, kind="stable")[(len(ranks) - 1) // 2]])


def _check_data_parallel(graph: Graph, found: Transfers, edit: Edit) -> None:
    why = _why_not_data_parallel(graph, found)
    if why:
        raise InputError(
            f"this job is not known to be data-parallel: {why}.",
            where=edit,
            expected="Every worker must do the same work and meet all others in each collective.",
            cure="Record the job at the other size.",
        )


def _why_not_data_parallel(graph: Graph, found: Transfers) -> str:
    if np.isin(graph.kind, (Kind.SEND, Kind.RECV)).any():
        return "its workers send messages to each other, as in a pipeline"
    if not len(found.match) or len(graph.workers) < 2:
        return "nothing shows how its workers would exchange gradients"
    small = np.flatnonzero(found.counts < len(graph.workers))
    if len(small):
        group = int(graph.match_group[found.match[small[0]]])
        name = f"group {graph.groups[group].name!r}" if group >= 0 else "a collective"
        return f"{name} has {found.counts[small[0]]} of its {len(graph.workers)} workers"
    for op in found.op[np.unique(graph.work[found.op], return_index=True)[1]]:
        does = OPERATIONS[operation(graph.works[int(graph.work[op])])]
        if does == "all_to_all":
            return "its workers hold different parts of the model (all-to-all)"
        if does == "all_reduce" and graph.phase[op] == Phase.FORWARD:
            return "its workers share layers (an all-reduce inside forward)"
    return _different_work(graph)


def _different_work(graph: Graph) -> str:
    ops = np.flatnonzero(graph.kind == Kind.COMPUTE)
    ranks = np.array(sorted(graph.workers))
    pairs = np.searchsorted(ranks, graph.worker[ops]) << 32 | graph.work[ops]
    pairs.sort()
    worker, work = pairs >> 32, pairs & 0xFFFFFFFF
    counts = np.bincount(worker, minlength=len(ranks))
    starts = np.cumsum(counts) - counts
    for at in range(1, len(ranks)):
        first, own = work[: counts[0]], work[starts[at] : starts[at] + counts[at]]
        if not np.array_equal(first, own):
            odd = np.setxor1d(first, own)
            what = f" ({graph.works[int(odd[0])].name!r})" if len(odd) else ""
            return f"workers {ranks[0]} and {ranks[at]} do not compute the same{what}"
    return ""
