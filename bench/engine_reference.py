"""The simulator's semantics once more, in plain Python: slow, short, and sharing no code with it.

`by_heap` plays lanes with a heap of ends, as event simulators usually do. `by_rule` plays lanes and
flows, sharing links by a rule that is worked out for all flows at every event: `max_min` is exact
max-min fairness by progressive filling, `equal_share` the crude rate / flows on each link.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence

from paceline.model import Cluster, Graph, Kind, Times

Routes = dict[int, list[int]]  # links by flow
Rule = Callable[[Routes, Sequence[float]], dict[int, float]]


def lane_order(graph: Graph) -> list[int]:
    """The lane predecessor of each op, -1 for the first."""
    before, last = [-1] * len(graph), {}
    for op, place in enumerate(zip(graph.worker.tolist(), graph.lane.tolist(), strict=True)):
        before[op] = last.get(place, -1)
        last[place] = op
    return before


def waits_of(graph: Graph) -> list[list[int]]:
    """What each op waits for: dependencies and its lane predecessor."""
    starts, flat = graph.after_from.tolist(), graph.after_op.tolist()
    waits = [flat[starts[op] : starts[op + 1]] for op in range(len(graph))]
    for op, other in enumerate(lane_order(graph)):
        if other >= 0:
            waits[op].append(other)
    return waits


def by_heap(graph: Graph, times: Times) -> tuple[list[int], list[int]]:
    """Start and end of each op of a graph whose durations are all known."""
    ops = len(graph)
    kind, match = graph.kind.tolist(), graph.match.tolist()
    duration, lead = times.duration_ns.tolist(), times.lead_ns.tolist()
    waits = waits_of(graph)
    behind: list[list[int]] = [[] for _ in range(ops)]
    for op, others in enumerate(waits):
        for other in others:
            behind[other].append(op)
    open_waits = [len(others) for others in waits]
    members: dict[int, list[int]] = defaultdict(list)
    send: dict[int, int] = {}
    for op in range(ops):
        if match[op] >= 0 and kind[op] == Kind.COLLECTIVE:
            members[match[op]].append(op)
        elif match[op] >= 0 and kind[op] == Kind.SEND:
            send[match[op]] = op
    receive = {match[op]: op for op in range(ops) if kind[op] == Kind.RECV and match[op] in send}
    missing = {met: len(own) for met, own in members.items()}
    start, end = [-1] * ops, [-1] * ops
    heap: list[tuple[int, int]] = []

    def begin(op: int, now: int) -> None:
        start[op] = now + lead[op]
        met = match[op]
        if kind[op] == Kind.COLLECTIVE and met >= 0:
            missing[met] -= 1
            if not missing[met]:
                over = max(start[one] for one in members[met])
                over += max(duration[one] for one in members[met])
                for one in members[met]:
                    heapq.heappush(heap, (over, one))
        elif kind[op] == Kind.RECV and met in send:
            if start[send[met]] >= 0:
                heapq.heappush(heap, (max(start[op], start[send[met]]) + duration[op], op))
        else:
            heapq.heappush(heap, (start[op] + duration[op], op))
            other = receive.get(met, -1) if kind[op] == Kind.SEND else -1
            if other >= 0 and start[other] >= 0:
                over = max(start[other], start[op]) + duration[other]
                heapq.heappush(heap, (over, other))

    ready_at = [0] * ops
    for op in range(ops):
        if not open_waits[op]:
            begin(op, 0)
    while heap:
        now, op = heapq.heappop(heap)
        end[op] = now
        for other in behind[op]:
            ready_at[other] = max(ready_at[other], now)
            open_waits[other] -= 1
            if not open_waits[other]:
                begin(other, ready_at[other])
    return start, end


def max_min(routes: Routes, rate: Sequence[float]) -> dict[int, float]:
    """Exact max-min rates: the tightest link is filled first, again and again."""
    left = dict(enumerate(rate))
    free = set(routes)
    out: dict[int, float] = {}
    while free:
        count: dict[int, int] = defaultdict(int)
        for flow in free:
            for link in routes[flow]:
                count[link] += 1
        level, tightest = min((left[link] / many, link) for link, many in count.items())
        for flow in [flow for flow in free if tightest in routes[flow]]:
            out[flow] = level
            free.discard(flow)
            for link in routes[flow]:
                left[link] = max(left[link] - level, 0.0)
    return out


def equal_share(routes: Routes, rate: Sequence[float]) -> dict[int, float]:
    """On each link everybody gets the same, whether or not they can use it."""
    many: dict[int, int] = defaultdict(int)
    for own in routes.values():
        for link in own:
            many[link] += 1
    return {flow: min(rate[link] / many[link] for link in own) for flow, own in routes.items()}


def by_rule(
    graph: Graph, times: Times, cluster: Cluster, routes: Routes, rule: Rule
) -> tuple[list[float], list[float]]:
    """Start and end of each op; receives of unknown duration take the links `routes[receive]`.

    Link 2k is the cluster's link k from a to b, 2k + 1 the same link back.
    """
    rate = [r for x in cluster.links for r in (x.bytes_per_s, x.back_bytes_per_s or x.bytes_per_s)]
    rate = [one / 1e9 for one in rate]
    latency = [x.latency_ns or 0 for x in cluster.links for _ in (0, 1)]
    kind, match = graph.kind.tolist(), graph.match.tolist()
    duration, lead = times.duration_ns.tolist(), times.lead_ns.tolist()
    waits = waits_of(graph)
    send = {match[op]: op for op in range(len(graph)) if kind[op] == Kind.SEND}
    flow_of_send = {send[match[op]]: op for op in routes}
    members: dict[int, list[int]] = defaultdict(list)
    for op in range(len(graph)):
        if match[op] >= 0 and kind[op] == Kind.COLLECTIVE:
            members[match[op]].append(op)
    start: dict[int, float] = {}
    end: dict[int, float] = {}
    arrival: dict[int, float] = {}
    left: dict[int, float] = {}
    now, todo = 0.0, set(range(len(graph)))
    begun: set[int] = set()

    def settle() -> None:
        again = True
        while again:
            again = False
            for op in sorted(todo):
                if op not in start and all(other in end for other in waits[op]):
                    start[op] = max((end[other] for other in waits[op]), default=0.0) + lead[op]
                    again = True
                over = ending(op) if op in start else None
                if over is not None:
                    end[op] = over
                    todo.discard(op)
                    again = True

    def ending(op: int) -> float | None:
        if op in routes:
            return max(start[op], arrival[op]) if op in arrival else None
        if op in flow_of_send and duration[op] < 0:
            flow = flow_of_send[op]
            return left.get(flow)
        if kind[op] == Kind.COLLECTIVE and match[op] >= 0:
            own = members[match[op]]
            if any(one not in start for one in own):
                return None
            return max(start[one] for one in own) + max(duration[one] for one in own)
        if kind[op] == Kind.RECV and match[op] in send:
            if send[match[op]] not in start:
                return None
            return max(start[op], start[send[match[op]]]) + duration[op]
        return start[op] + duration[op]

    carried: dict[int, float] = {}
    settle()
    while todo or carried:
        pending = {
            flow: start[op]
            for op, flow in flow_of_send.items()
            if op in start and flow not in begun
        }
        rates = rule({flow: routes[flow] for flow in carried}, rate) if carried else {}
        ends = {flow: now + size / rates[flow] for flow, size in carried.items()}
        assert pending or ends, "ops wait for themselves"
        then = min([*pending.values(), *ends.values()])
        for flow in carried:
            carried[flow] -= rates[flow] * (then - now)
        over = [flow for flow in carried if ends[flow] <= then]
        now = then
        for flow, at in pending.items():
            if at <= now:
                begun.add(flow)
                size = max(int(graph.size_bytes[flow]), 0)
                if routes[flow] and size:
                    carried[flow] = size
                else:
                    over.append(flow)
        for flow in over:
            carried.pop(flow, None)
            left[flow] = now
            arrival[flow] = now + sum(latency[link] for link in routes[flow])
        settle()
    return [start[op] for op in range(len(graph))], [end[op] for op in range(len(graph))]
