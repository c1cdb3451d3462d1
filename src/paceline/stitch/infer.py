"""Finds dependencies between the lanes of one worker that its trace does not show.

Traces of CPU jobs, and of older CUDA libraries, do not tell why a lane stood still. Two rules, both
about what happened in nearly all recorded steps:

- *resumes*: a lane stood still before an op until just about the end of an op on another lane. The
  gap between the two is short, and far steadier than the op's own start.
- *blocks*: an op lasted until just about the end of an op on another lane, again with a short and
  steady rest, while its length varied: a call that waits inside.

In both, the other op must be one that others wait for: a collective or message, or the last before
its own lane fell still; or the op itself talks. What an op is after already needs no other
explanation, nor how long a message or collective lasts: that is up to its peers. A collective that
no op waits for is used by the first of those that wait for communication and always began later.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paceline.model import I64, TALKING, UNKNOWN, Graph, Kind
from paceline.stitch.cases import FEW, JITTER_NS, NEARLY_ALL, Cases, Seen, blocking, resuming
from paceline.stitch.fit import Recorded
from paceline.stitch.fold import evenly
from paceline.stitch.meeting import packed
from paceline.stitch.nest import Mask
from paceline.stitch.peers import on_peers
from paceline.stitch.rendezvous import meeting_ends

_STEPS = 64  # evenly chosen steps that are looked at
_LEAST = 3  # cases below which nothing is inferred
_SHORT_NS = 50_000  # to wake a thread, or to start a kernel
_SHORT = 0.1  # of the wait
_STEADY_NS = 5_000
_STEADY = 0.25  # of the variation that is explained
_TIGHT, _TIGHTLY = 0.02, 0.05  # of the wait: a rest so short, and so steady, is no chance
_MOST = 0.75
_MOST_LANES = 64  # of one worker
_NEXT = 16  # ops that may use a collective, of those that begin after it


def inferred(graph: Graph, start_ns: I64, end_ns: I64) -> tuple[I64, I64]:
    """Pairs (op, op of the same worker that it is after) that no trace shows."""
    seen = _seen(graph, start_ns, end_ns)
    resumes: list[Cases] = []
    blocks: list[Cases] = []
    for lanes in _lanes(graph):
        for own, other in itertools.permutations(lanes, 2):
            resumes.extend(resuming(seen, own, other))
            blocks.append(blocking(seen, own[~seen.talks[own]], other))
    owner, target = _by_gaps(graph, seen, resumes, blocks)
    unused = _unused(graph, seen, owner, target)
    synchronous = meeting_ends(graph, seen, FEW)
    return (
        np.concatenate([owner, unused[0], synchronous[0]]),
        np.concatenate([target, unused[1], synchronous[1]]),
    )


def _by_gaps(
    graph: Graph, seen: Seen, resumes: Sequence[Cases], blocks: Sequence[Cases]
) -> tuple[I64, I64]:
    if not resumes:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    parts: list[tuple[I64, I64]] = []
    for cases, slack_ns, moment_ns in (
        (resumes, _STEADY_NS, seen.start_ns),
        (blocks, 0, seen.end_ns),
    ):
        owner, target, gap = _judged(graph, seen, _together(cases), slack_ns=slack_ns)
        best = _best(graph, owner, target, gap)
        parts.append(on_peers(graph, seen, best, moment_ns))
    owner, target = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _one_way(graph, owner, target)


def _seen(graph: Graph, start_ns: I64, end_ns: I64) -> Seen:
    steps = start_ns.shape[1]
    some = evenly(steps, _STEPS)
    start, end = start_ns[:, some], end_ns[:, some]
    known = start != UNKNOWN
    start, end = np.where(known, start, 0), np.where(known, end, 0)
    recorded = Recorded(graph)
    awaited = np.stack([recorded.awaited(column) for column in end.T], axis=1)
    before = np.stack([recorded.before(column) for column in end.T], axis=1)
    return Seen(
        talks=np.isin(graph.kind, TALKING),
        start_ns=start,
        end_ns=end,
        free_ns=np.maximum(awaited, before),
        awaited_ns=awaited,
        known=known,
    )


def _lanes(graph: Graph) -> list[list[I64]]:
    """The ops of each lane, in order, by worker; of very many lanes, those with most ops."""
    order = np.lexsort((graph.lane, graph.worker))
    worker, lane = graph.worker[order], graph.lane[order]
    new = np.flatnonzero((np.diff(worker) != 0) | (np.diff(lane) != 0)) + 1
    by_worker: dict[int, list[I64]] = {}
    for ops in np.split(order, new):
        by_worker.setdefault(int(graph.worker[ops[0]]), []).append(ops)
    return [sorted(lanes, key=len, reverse=True)[:_MOST_LANES] for lanes in by_worker.values()]


def _together(parts: Sequence[Cases]) -> Cases:
    fields = [field.name for field in dataclasses.fields(Cases)]
    return Cases(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in fields})


def _judged(
    graph: Graph, seen: Seen, cases: Cases, *, slack_ns: int
) -> tuple[I64, I64, npt.NDArray[np.float64]]:
    """The pairs that hold, with the median gap; a gap within the slack is steady in any case."""
    alike = np.arange(len(cases.op))
    instances = seen.known[cases.op].sum(axis=1)
    if seen.start_ns.shape[1] < FEW:
        works = packed(*(graph.work[ops].astype(np.int64) for ops in (cases.op, cases.cause)))
        _, alike = np.unique(works, return_inverse=True)
        everywhere = np.bincount(graph.work, weights=seen.known.sum(axis=1))
        instances = everywhere[graph.work[cases.op]]
    waited = _count(alike, cases.waited)
    both = _count(alike, cases.both)
    held = _count(alike, cases.held)
    still = _count(alike, cases.waited & cases.still)
    gap, gap_varies = _middle(alike, cases.gap_ns, cases.waited)
    whole, _ = _middle(alike, cases.whole_ns, cases.waited)
    _, varies = _middle(alike, cases.varies_ns, cases.waited)
    steady = gap_varies <= np.maximum(slack_ns, _STEADY * varies)
    # a wait for communication that is always as long varies no more than threads are stopped
    tight = (np.abs(gap) <= _TIGHT * whole) & (gap_varies <= _TIGHTLY * whole)
    good = (
        (waited >= _LEAST)
        & (2 * waited >= both)
        & (both >= _MOST * instances)
        & (held >= NEARLY_ALL * both)
        & (seen.talks[cases.op] | seen.talks[cases.cause] | (still >= _MOST * waited))
        & (gap >= (-JITTER_NS if slack_ns else 0))
        & (gap <= np.maximum(_SHORT_NS, _SHORT * whole))
        & (steady | (tight & seen.talks[cases.cause]))
        & ((slack_ns > 0) | (varies >= _STEADY_NS))
    )
    return cases.op[good], cases.cause[good], gap[good]


def _count(alike: I64, marked: Mask) -> I64:
    """How many steps of all rows alike are marked, for each row."""
    totals = np.zeros(int(alike.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(totals, alike, marked.sum(axis=1))
    return totals[alike]


def _middle(
    alike: I64, values: I64, marked: Mask
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Median and interquartile range over the marked steps of all rows alike, for each row."""
    group = np.broadcast_to(alike[:, None], values.shape)[marked]
    own = values[marked]
    order = np.lexsort((own, group))
    own = np.append(own[order], 0).astype(np.float64)
    count = np.bincount(group, minlength=int(alike.max(initial=-1)) + 1)
    first = np.cumsum(count) - count
    low, half, high = (
        own[first + (share * np.maximum(count - 1, 0)).round().astype(np.int64)]
        for share in (0.25, 0.5, 0.75)
    )
    return half[alike], (high - low)[alike]


def _best(graph: Graph, owner: I64, target: I64, gap: npt.NDArray[np.float64]) -> tuple[I64, I64]:
    """All collectives and receives that explain an op; where there are none, the closest cause.

    A send beside them explains nothing: it often lasts until the receive of the same exchange.
    """
    brings = np.isin(graph.kind, (Kind.COLLECTIVE, Kind.RECV))[target]
    order = np.lexsort((target, gap, ~brings, owner))
    owner, target, brings = owner[order], target[order], brings[order]
    first = np.ones(len(owner), dtype=np.bool_)
    first[1:] = owner[1:] != owner[:-1]
    return owner[first | brings], target[first | brings]


def _one_way(graph: Graph, owner: I64, target: I64) -> tuple[I64, I64]:
    """Each pair once; of two ops that end together and seem to wait for each other, the later."""
    count = len(graph)
    pairs = np.unique(owner * count + target)
    owner, target = np.divmod(pairs, count)
    mutual = np.isin(target * count + owner, pairs) & (owner < target)
    return owner[~mutual], target[~mutual]


def _unused(graph: Graph, seen: Seen, owner: I64, target: I64) -> tuple[I64, I64]:
    """Collectives that no op is after, each with the op that most likely uses it."""
    waiting = np.repeat(np.arange(len(graph)), np.diff(graph.after_from))
    all_owners = np.concatenate([waiting, owner])
    all_targets = np.concatenate([graph.after_op, target])
    collective = graph.kind == Kind.COLLECTIVE
    users = np.unique(all_owners[collective[all_targets]])
    needed = np.setdiff1d(np.flatnonzero(collective), all_targets)
    found: list[tuple[int, int]] = []
    for worker in np.unique(graph.worker[needed]):
        mine = users[graph.worker[users] == worker]
        for op in needed[graph.worker[needed] == worker].tolist():
            later = mine[np.searchsorted(mine, op) :][:_NEXT]
            both = seen.known[later] & seen.known[op]
            after = both & (seen.start_ns[later] >= seen.end_ns[op])
            sure = after.sum(axis=1) >= np.maximum(NEARLY_ALL * both.sum(axis=1), 1)
            if sure.any():
                found.append((int(later[sure.argmax()]), op))
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
