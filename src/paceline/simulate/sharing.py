"""How flows share links: max-min fair, worked out anew only where it changes. Compiled.

A flow runs at the lowest level of its links. A link's level solves sum(min(limit, level)) = rate
over the flows on it, where a flow's limit is the lowest level of its other links; a link that its
flows cannot fill has no say. Levels that solve this for all links give the max-min fair rates. When
flows begin or end, their links are solved again, then the links whose flows this concerns, until
nothing changes by more than TOLERANCE: that is the affected part, mostly a handful of links.
"""

import numpy as np

from paceline.simulate.compiled import compiled
from paceline.simulate.heap import Records

# A link crossed by more than MANY routes is solved again once it has changed by one part in MANY,
# and goes by its count of flows between, so that a crowd costs each flow no more than MANY.
MANY = 128
TOLERANCE = 1e-6
PATIENCE = 1000  # solutions per link after which levels stay as they are; never seen

ONCE, MOVED = 1, 2  # listed since it was touched; its level has moved, too

# Records of 128, 48 and 64 bytes: what is a power of two, or nearly, is found fastest.
# Rates and levels are bytes per ns. `listed` and `queued` are lists of links, by place.
LINK = np.dtype([
    ("rate", np.float64), ("ceiling", np.float64),  # most for all flows together, and for one
    ("level", np.float64), ("served", np.float64), ("since", np.float64),  # served until when
    ("sharing", np.int64), ("crossings", np.int64), ("homed", np.int64),  # flows, routes, routes
    ("room", np.int64),  # where its routes begin in `homes` and `crossing`
    ("solved", np.float64), ("among", np.int64), ("stale", np.float64),  # level when solved, flows
    ("touched", np.int64), ("waits", np.int64),  # marks: ONCE listed or MOVED, and 1 if queued
    ("listed", np.int64), ("queued", np.int64),
])  # fmt: skip
HOP = np.dtype([
    ("link", np.int64), ("route", np.int64),
    ("spot", np.int64),  # among the link's crossing hops, which lie by place in the rest
    ("crossing", np.int64), ("across", np.int64), ("limit", np.float64),  # a hop, its route
])  # fmt: skip
ROUTE = np.dtype([
    ("first", np.int64), ("stop", np.int64),  # its hops
    ("room", np.int64), ("flows", np.int64),  # where its flows begin in `queue`, how many there are
    ("offset", np.float64),  # what its home had served when the route had got nothing
    ("home", np.int64), ("changed", np.int64), ("listed", np.int64),
])  # fmt: skip
FLOW = np.dtype([("size", np.float64), ("latency", np.int64), ("route", np.int64)])

# What `count` counts: links in `dues`, listed links, listed routes, queued links.
DUES, TOUCHED, CHANGED, WAITING = 0, 1, 2, 3


@compiled
def up_to_date(links: Records, link: int, now: float) -> None:
    """Counts what a link has served up to now."""
    one = links[link]
    one["served"] += one["level"] * (now - one["since"])
    one["since"] = now


@compiled
def touched(links: Records, count: Records, link: int) -> None:
    """Lists a link whose next end must be found anew."""
    if links[link]["touched"] == 0:
        links[link]["touched"] = ONCE
        links[count[TOUCHED]]["listed"] = link
        count[TOUCHED] += 1


@compiled
def _solved(links: Records, hops: Records, routes: Records, link: int) -> float:
    """The level of a link, given the levels of all others."""
    own = links[link]
    sharing = own["sharing"]
    if sharing == 0:
        return own["ceiling"]
    begin, stop = own["room"], own["room"] + own["crossings"]
    for place in range(begin, stop):
        hop = hops[place]["crossing"]
        route = routes[hops[place]["across"]]
        limit = np.inf
        for other in range(route["first"], route["stop"]):
            if other != hop:
                limit = min(limit, links[hops[other]["link"]]["level"])
        hops[place]["limit"] = limit
    level, left, rest = 0.0, own["rate"], sharing
    while left / rest > level:  # else no flow is held back below this level any more
        level = left / rest
        left, rest = own["rate"], sharing
        for place in range(begin, stop):
            if hops[place]["limit"] < level:
                flows = routes[hops[place]["across"]]["flows"]
                left -= hops[place]["limit"] * flows
                rest -= flows
        if rest == 0:
            return own["ceiling"]
    return min(level, own["ceiling"])


@compiled
def _queued(links: Records, count: Records, link: int, head: int) -> None:
    """Lays a link behind those that are to be solved, in a ring that begins at `head`."""
    if links[link]["waits"] == 0:
        links[link]["waits"] = 1
        tail = head + count[WAITING]
        links[tail if tail < len(links) else tail - len(links)]["queued"] = link
        count[WAITING] += 1


@compiled
def _told(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, hops: Records, routes: Records, count: Records,
    link: int, before: float, head: int,
) -> None:  # fmt: skip
    """Queues the links that share a flow with this one and whose level its new level concerns."""
    own = links[link]
    lower = min(before, own["level"])
    change = abs(own["level"] - before)
    for place in range(own["room"], own["room"] + own["crossings"]):
        hop = hops[place]["crossing"]
        route = routes[hops[place]["across"]]
        for beside in range(route["first"], route["stop"]):
            other = hops[beside]["link"]
            # elsewhere the flow is not held back by this link, neither before nor after
            if beside != hop and lower < links[other]["level"]:
                if links[other]["crossings"] > MANY:
                    links[other]["stale"] += change * route["flows"] / links[other]["rate"]
                _queued(links, count, other, head)


@compiled
def shared(links: Records, hops: Records, routes: Records, count: Records, now: float) -> None:
    """Solves the touched links, and all that this concerns; touches those whose level changes."""
    head, patience = int(np.int64(0)), PATIENCE * len(links)
    for at in range(count[TOUCHED]):
        _queued(links, count, links[at]["listed"], head)
    while count[WAITING] > 0:
        link = links[head]["queued"]
        head = head + 1 if head + 1 < len(links) else 0
        count[WAITING] -= 1
        own = links[link]
        own["waits"] = 0
        before = own["level"]
        change = max(abs(own["sharing"] - own["among"]), own["stale"] * own["among"])
        if own["crossings"] > MANY and change * MANY < own["among"]:
            own["level"] = min(own["ceiling"], own["solved"] * own["among"] / own["sharing"])
            continue
        level = _solved(links, hops, routes, link)
        own["solved"], own["among"], own["stale"] = level, own["sharing"], 0.0
        patience -= 1
        if patience > 0 and abs(level - before) > TOLERANCE * before:
            up_to_date(links, link, now)
            touched(links, count, link)
            own["level"] = level
            own["touched"] = MOVED
            _told(links, hops, routes, count, link, before, head)
