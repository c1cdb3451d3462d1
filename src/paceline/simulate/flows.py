"""Plays lanes and flows together: lanes run ahead until they wait for a flow, flows keep the clock.

Only two kinds of event need a clock: a flow begins, a flow ends. All events of one moment are taken
together before links are shared anew, so the order in which ops are numbered changes nothing.
Compiled.
"""

import numpy as np

from paceline.model import I32, I64, U8
from paceline.simulate.compiled import compiled
from paceline.simulate.engine import advance
from paceline.simulate.heap import Records, put, take
from paceline.simulate.sharing import DUES
from paceline.simulate.traffic import ended, joined, settled


@compiled
def _arrive(  # noqa: PLR0917 - compiled functions take no keywords
    flow: int, now: int, latency: int, left: I64, arrival: I64, opener: I32, taker: I32,
    stack: I32, awake: int,
) -> int:  # fmt: skip
    """A flow has left; wakes who waits for it."""
    left[flow] = now
    arrival[flow] = now + latency
    if opener[flow] >= 0:
        stack[awake] = opener[flow]
        awake += 1
    if taker[flow] >= 0:
        stack[awake] = taker[flow]
        awake += 1
    return awake


@compiled
def played_with_flows(  # noqa: PLR0917 - compiled functions take no keywords
    code: U8, partner: I32, after_from: I64, after_op: I32, duration: I64, lead: I64,
    following: I32, members: I64, longest: I64,
    cursor: I32, looked: I64, free: I64, behind: I32, waiting: I32,
    arrived: I64, latest: I64, meeting: I32,
    left: I64, arrival: I64, opener: I32, taker: I32, opened: I32,
    stack: I32, awake: int, start: I64, end: I64,
    source: I32, links: Records, hops: Records, routes: Records, flows: Records,
    dues: Records, homes: Records, queue: Records, beginning: Records, count: I64, over: I64,
) -> int:  # fmt: skip
    """Plays a graph whose flows open at the ops `source`; returns the number of ops played.

    `beginning` is the heap of flows that are to begin, `over` is scratch. The clock is in whole
    nanoseconds.
    """
    played, now, top = 0, 0.0, int(np.int64(0))
    pending = top
    while True:
        ran, fresh = advance(
            code, partner, after_from, after_op, duration, lead, following, members, longest,
            cursor, looked, free, behind, waiting, arrived, latest, meeting,
            left, arrival, opener, taker, opened, stack, awake, start, end,
        )  # fmt: skip
        played += ran
        awake = top
        for at in range(fresh):
            flow = int(opened[at])
            put(beginning, top, pending, flow, float(start[source[flow]]))
            pending += 1
        begin = beginning[beginning[0]["item"]]["key"] if pending > 0 else np.inf
        due = dues[dues[0]["item"]]["key"] if count[DUES] > 0 else np.inf
        if min(begin, due) > now:
            settled(links, hops, routes, dues, homes, queue, count, now)
            due = dues[dues[0]["item"]]["key"] if count[DUES] > 0 else np.inf
            now = min(begin, due)
            if now == np.inf:
                return played
        while due <= now:
            found = ended(
                links, hops, routes, dues, homes, queue, count, dues[0]["item"], now, over
            )
            for at in range(found):
                flow = over[at]
                awake = _arrive(
                    flow, int(now), flows[flow]["latency"],
                    left, arrival, opener, taker, stack, awake,
                )  # fmt: skip
            due = dues[dues[0]["item"]]["key"] if count[DUES] > 0 else np.inf
        while begin <= now:
            flow = beginning[0]["item"]
            take(beginning, top, pending, top)
            pending -= 1
            own = routes[flows[flow]["route"]]
            if own["first"] < own["stop"] and flows[flow]["size"] > 0:
                joined(links, hops, routes, flows, queue, count, flow, now)
            else:
                awake = _arrive(
                    flow, int(now), flows[flow]["latency"],
                    left, arrival, opener, taker, stack, awake,
                )  # fmt: skip
            begin = beginning[beginning[0]["item"]]["key"] if pending > 0 else np.inf
