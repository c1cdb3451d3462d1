"""The strongest simple rival of the engine: one heap of events, exact max-min shares; compiled.

As textbooks say: ops end and flows begin in order of time; whenever a flow begins or ends, the
rates of all flows are worked out anew by progressive filling. Nothing of the simulator is in it, so
it also tells whether both play the same.
"""

from typing import Any, NamedTuple, cast

import numba
import numpy as np
import numpy.typing as npt

from engine_reference import lane_order
from paceline.model import Cluster, Graph, Kind, Times

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
SEND, RECV, COLLECTIVE = int(Kind.SEND), int(Kind.RECV), int(Kind.COLLECTIVE)
compiled = cast(Any, numba.njit)(cache=True, error_model="numpy")


class Laid(NamedTuple):
    """A graph laid out for the rival: who waits for whom, who meets whom, and what flows where."""

    kind: I64
    match: I64
    duration: I64
    lead: I64
    waits: I64  # how many ops each waits for
    behind_from: I64
    behind: I64
    members_from: I64
    members: I64
    longest: I64
    links: I64  # two a match: out of the sender's machine, into the receiver's
    size: F64
    rate: F64
    latency: I64


def laid(graph: Graph, times: Times, cluster: Cluster | None = None) -> Laid:
    """The layout; the cluster is a star, workers fill its slots in order."""
    ops, matches = len(graph), len(graph.match_group)
    lane = np.array(lane_order(graph))
    rows = np.repeat(np.arange(ops), np.diff(graph.after_from))
    waiting = np.concatenate([rows, np.flatnonzero(lane >= 0)])
    awaited = np.concatenate([graph.after_op, lane[lane >= 0]])
    met = np.flatnonzero((graph.match >= 0) & (graph.kind == Kind.COLLECTIVE))
    longest = np.zeros(matches, dtype=np.int64)
    np.maximum.at(longest, graph.match[met], times.duration_ns[met])
    links, size = np.zeros(2 * matches, dtype=np.int64), np.zeros(matches)
    if cluster is not None:
        at = np.repeat(np.arange(len(cluster.machines)), [m.slots for m in cluster.machines])
        for kind, side in ((Kind.SEND, 0), (Kind.RECV, 1)):
            own = np.flatnonzero((graph.kind == kind) & (graph.match >= 0))
            links[2 * graph.match[own] + side] = 2 * at[graph.worker[own]] + side
            size[graph.match[own]] = graph.size_bytes[own]
    rates = [x.bytes_per_s or 0.0 for x in cluster.links for _ in (0, 1)] if cluster else []
    pause = [x.latency_ns or 0 for x in cluster.links for _ in (0, 1)] if cluster else []
    return Laid(
        graph.kind.astype(np.int64), graph.match.astype(np.int64), times.duration_ns, times.lead_ns,
        np.bincount(waiting, minlength=ops), *grouped(awaited, waiting, ops),
        *grouped(graph.match[met], met, matches), longest, links, size,
        np.array(rates, dtype=np.float64) / 1e9, np.array(pause, dtype=np.int64),
    )  # fmt: skip


def grouped(
    key: npt.NDArray[np.integer], value: npt.NDArray[np.integer], count: int
) -> tuple[I64, I64]:
    """Values by key: where each key's begin, and all of them."""
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(key, minlength=count), out=starts[1:])
    return starts, value[np.argsort(key, kind="stable")].astype(np.int64)


def rival(job: Laid) -> tuple[I64, I64, int]:
    """Start and end of each op, and how many rates were worked out."""
    ops, matches = len(job.kind), len(job.longest)
    start, end = np.full((2, ops), -1, dtype=np.int64)
    heap_key, heap_item = np.empty((2, ops + matches), dtype=np.int64)
    solved = int(played(*job[:4], job.waits.copy(), *job[5:], start, end, heap_key, heap_item))
    return start, end, solved


@compiled
def push(key: I64, item: I64, count: int, new_key: int, new: int) -> int:
    at = count
    while at > 0 and key[(at - 1) >> 1] > new_key:
        key[at], item[at] = key[(at - 1) >> 1], item[(at - 1) >> 1]
        at = (at - 1) >> 1
    key[at], item[at] = new_key, new
    return count + 1


@compiled
def pop(key: I64, item: I64, count: int) -> int:
    count -= 1
    last_key, last = key[count], item[count]
    at = 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and key[below + 1] < key[below]:
            below += 1
        if key[below] >= last_key:
            break
        key[at], item[at] = key[below], item[below]
        at = below
    key[at], item[at] = last_key, last
    return count


@compiled
def fill(
    active: I64, many: int, links: I64, rate: F64, speed: F64, left: F64, load: I64, used: I64
) -> None:
    """Max-min rates of all active flows: the tightest link is filled first, again and again."""
    distinct, done = 0, 0
    for at in range(many):
        flow = active[at]
        speed[flow] = -1.0
        for link in (links[2 * flow], links[2 * flow + 1]):
            if load[link] == 0:
                used[distinct] = link
                left[link] = rate[link]
                distinct += 1
            load[link] += 1
    while done < many:
        level, tightest = np.inf, -1
        for at in range(distinct):
            link = used[at]
            if load[link] > 0 and left[link] / load[link] < level:
                level, tightest = left[link] / load[link], link
        for at in range(many):
            flow = active[at]
            one, other = links[2 * flow], links[2 * flow + 1]
            if speed[flow] < 0 and tightest in (one, other):
                speed[flow] = level
                done += 1
                for link in (one, other):
                    left[link] = max(left[link] - level, 0.0)
                    load[link] -= 1


@compiled
def played(
    kind: I64, match: I64, duration: I64, lead: I64, waits: I64,
    behind_from: I64, behind: I64, members_from: I64, members: I64, longest: I64,
    links: I64, size: F64, rate: F64, latency: I64,
    start: I64, end: I64, heap_key: I64, heap_item: I64,
) -> int:  # fmt: skip
    """Plays it all; items of the heap are ops that end, or ops + match for flows that begin."""
    ops, matches = len(kind), len(longest)
    ready, arrival = np.zeros(ops, np.int64), np.full(matches, -1, np.int64)
    come, sender = np.zeros(matches, np.int64), np.full(matches, -1, np.int64)
    receiver = np.full(matches, -1, np.int64)
    active, todo = np.empty(matches + 1, np.int64), np.empty(ops, np.int64)
    rest, speed = np.zeros(matches), np.zeros(matches)
    left, load, used = (
        np.zeros(len(rate)),
        np.zeros(len(rate), np.int64),
        np.empty(len(rate), np.int64),
    )
    count, many, begun, solved, now = 0, 0, 0, 0, 0
    for op in range(ops):
        if kind[op] == SEND and match[op] >= 0:
            sender[match[op]] = op
        if kind[op] == RECV and match[op] >= 0:
            receiver[match[op]] = op
        if waits[op] == 0:
            todo[begun] = op
            begun += 1
    while True:
        while begun > 0:
            begun -= 1
            op = todo[begun]
            start[op] = ready[op] + lead[op]
            met = match[op]
            if met < 0 or (kind[op] != COLLECTIVE and duration[op] >= 0):
                count = push(heap_key, heap_item, count, start[op] + duration[op], op)
            elif kind[op] == COLLECTIVE:
                come[met] += 1
                if come[met] == members_from[met + 1] - members_from[met]:
                    over = 0
                    for at in range(members_from[met], members_from[met + 1]):
                        over = max(over, start[members[at]])
                    for at in range(members_from[met], members_from[met + 1]):
                        count = push(heap_key, heap_item, count, over + longest[met], members[at])
            elif kind[op] == SEND:
                count = push(heap_key, heap_item, count, start[op], ops + met)
            elif arrival[met] >= 0:
                count = push(heap_key, heap_item, count, max(start[op], arrival[met]), op)
        then = np.inf
        for at in range(many):
            flow = active[at]
            then = min(then, max(now, np.floor(now + rest[flow] / speed[flow] + 0.5)))
        if count > 0:
            then = min(then, heap_key[0])
        if then == np.inf:
            return solved
        changed, kept = False, 0
        for at in range(many):
            flow = active[at]
            rest[flow] -= speed[flow] * (then - now)
            if rest[flow] > 0.5 * speed[flow]:
                active[kept] = flow
                kept += 1
                continue
            changed = True
            arrival[flow] = int(then) + latency[links[2 * flow]] + latency[links[2 * flow + 1]]
            count = push(heap_key, heap_item, count, int(then), sender[flow])
            op = receiver[flow]
            if start[op] >= 0:
                count = push(heap_key, heap_item, count, max(start[op], arrival[flow]), op)
        many, now = kept, int(then)
        while count > 0 and heap_key[0] <= now:
            item = heap_item[0]
            count = pop(heap_key, heap_item, count)
            if item >= ops:
                flow = item - ops
                rest[flow] = size[flow]
                active[many] = flow
                many += 1
                changed = True
                continue
            end[item] = now
            for at in range(behind_from[item], behind_from[item + 1]):
                other = behind[at]
                ready[other] = now
                waits[other] -= 1
                if waits[other] == 0:
                    todo[begun] = other
                    begun += 1
        if changed:
            fill(active, many, links, rate, speed, left, load, used)
            solved += many
