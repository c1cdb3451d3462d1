"""Flows on their way: who begins, who ends, and when the next will end. Compiled.

No flow is touched when its rate changes. Flows of one route run at one rate and lie in the route's
queue; a route lies in the queue of the link that limits it (its home). A link counts the bytes that
it has `served` to each flow it limits: a flow ends when that count has grown by its size, whatever
the level did meanwhile. So an event costs heap moves on a few links.
"""

import numpy as np

from paceline.model import I64
from paceline.simulate.compiled import compiled
from paceline.simulate.heap import Records, put, renew, sink, take
from paceline.simulate.sharing import CHANGED, DUES, MOVED, TOUCHED, shared, touched, up_to_date

HALF_NS = 0.5  # a flow ends at the whole nanosecond nearest to its end


@compiled
def _shifted(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, hops: Records, routes: Records, count: Records,
    route: int, change: int, now: float,
) -> None:  # fmt: skip
    """One flow more or less on every link of a route; levels follow in `settled`."""
    own = routes[route]
    own["flows"] += change
    for hop in range(own["first"], own["stop"]):
        link = hops[hop]["link"]
        up_to_date(links, link, now)
        touched(links, count, link)
        links[link]["sharing"] += change
    if own["changed"] == 0:
        own["changed"] = 1
        routes[count[CHANGED]]["listed"] = route
        count[CHANGED] += 1


@compiled
def joined(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, hops: Records, routes: Records, flows: Records, queue: Records,
    count: Records, flow: int, now: float,
) -> None:  # fmt: skip
    """A flow begins."""
    route = flows[flow]["route"]
    _shifted(links, hops, routes, count, route, int(np.int64(1)), now)
    own = routes[route]
    got = 0.0
    if own["home"] >= 0:
        got = links[own["home"]]["served"] - own["offset"]
    put(queue, own["room"], own["flows"] - 1, flow, got + flows[flow]["size"])


@compiled
def ended(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, hops: Records, routes: Records,
    dues: Records, homes: Records, queue: Records, count: Records,
    link: int, now: float, over: I64,
) -> int:  # fmt: skip
    """Takes off the flows that end now of those a link limits; fills `over`, says how many."""
    up_to_date(links, link, now)
    here = links[link]
    reach = here["served"] + HALF_NS * here["level"]
    base, found, top = here["room"], 0, int(np.int64(0))
    while True:
        route = homes[base]["item"]
        if found > 0 and homes[route]["key"] > reach:
            break
        own = routes[route]
        flow = queue[own["room"]]["item"]
        take(queue, own["room"], own["flows"], top)
        over[found] = flow
        found += 1
        _shifted(links, hops, routes, count, route, int(np.int64(-1)), now)
        following = np.inf
        if own["flows"] > 0:
            following = own["offset"] + queue[queue[own["room"]]["item"]]["key"]
        homes[route]["key"] = following
        sink(homes, base, here["homed"], top)
    take(dues, top, count[DUES], dues[link]["spot"])
    count[DUES] -= 1
    return found


@compiled
def _crossed(links: Records, hops: Records, own: Records) -> None:
    """Enters a route among those that cross its links if it has flows, else strikes it out."""
    for hop in range(own["first"], own["stop"]):
        link = links[hops[hop]["link"]]
        if own["flows"] > 0:
            hops[hop]["spot"] = link["crossings"]
            place = link["room"] + link["crossings"]
            hops[place]["crossing"], hops[place]["across"] = hop, hops[hop]["route"]
            link["crossings"] += 1
        else:
            link["crossings"] -= 1
            last = hops[link["room"] + link["crossings"]]["crossing"]
            place = link["room"] + hops[hop]["spot"]
            hops[place]["crossing"], hops[place]["across"] = last, hops[last]["route"]
            hops[last]["spot"] = hops[hop]["spot"]


@compiled
def _unhomed(links: Records, routes: Records, homes: Records, route: int) -> None:
    link = links[routes[route]["home"]]
    take(homes, link["room"], link["homed"], homes[route]["spot"])
    link["homed"] -= 1
    routes[route]["home"] = -1


@compiled
def _homed(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, hops: Records, routes: Records, homes: Records, queue: Records, count: Records,
    route: int, now: float,
) -> None:  # fmt: skip
    """Lays a route into the queue of its link of lowest level; what it got stays what it got."""
    own = routes[route]
    home = own["home"]
    best = home if home >= 0 else hops[own["first"]]["link"]
    for hop in range(own["first"], own["stop"]):
        link = hops[hop]["link"]
        if links[link]["level"] < links[best]["level"]:
            best = link
    if best == home:
        return
    up_to_date(links, best, now)
    got = 0.0
    if home >= 0:
        up_to_date(links, home, now)
        got = links[home]["served"] - own["offset"]
        _unhomed(links, routes, homes, route)
        touched(links, count, home)
    touched(links, count, best)
    own["home"] = best
    own["offset"] = links[best]["served"] - got
    ends = own["offset"] + queue[queue[own["room"]]["item"]]["key"]
    put(homes, links[best]["room"], links[best]["homed"], route, ends)
    links[best]["homed"] += 1


@compiled
def _retimed(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, dues: Records, homes: Records, count: Records, link: int, now: float
) -> None:
    """Says anew when the next flow that a link limits will end."""
    own = links[link]
    due = np.inf
    if own["homed"] > 0:
        lacks = homes[homes[own["room"]]["item"]]["key"] - own["served"]
        due = max(now, np.floor(now + lacks / own["level"] + HALF_NS))
    spot, top = dues[link]["spot"], int(np.int64(0))
    if due == np.inf:
        if spot >= 0:
            take(dues, top, count[DUES], spot)
            count[DUES] -= 1
    elif spot >= 0:
        renew(dues, top, count[DUES], link, due)
    else:
        put(dues, top, count[DUES], link, due)
        count[DUES] += 1


@compiled
def settled(  # noqa: PLR0917 - compiled functions take no keywords
    links: Records, hops: Records, routes: Records,
    dues: Records, homes: Records, queue: Records, count: Records, now: float,
) -> None:  # fmt: skip
    """Levels, homes and ends after all that began and ended at one moment."""
    changed = count[CHANGED]
    for at in range(changed):
        route = routes[at]["listed"]
        own = routes[route]
        own["changed"] = 0
        if (own["flows"] > 0) != (own["home"] >= 0):
            if own["home"] >= 0:
                _unhomed(links, routes, homes, route)
            _crossed(links, hops, own)
        elif own["flows"] > 0:
            ends = own["offset"] + queue[queue[own["room"]]["item"]]["key"]
            home = links[own["home"]]
            renew(homes, home["room"], home["homed"], route, ends)
    shared(links, hops, routes, count, now)
    for at in range(changed):
        if routes[routes[at]["listed"]]["flows"] > 0:
            _homed(links, hops, routes, homes, queue, count, routes[at]["listed"], now)
    count[CHANGED] = 0
    for at in range(count[TOUCHED]):
        link = links[at]["listed"]
        own = links[link]
        if own["touched"] == MOVED:
            for place in range(own["room"], own["room"] + own["crossings"]):
                route = hops[place]["across"]
                home = routes[route]["home"]
                if home == link or own["level"] < links[home]["level"]:
                    _homed(links, hops, routes, homes, queue, count, route, now)
    at = 0
    while at < count[TOUCHED]:
        link = links[at]["listed"]
        links[link]["touched"] = 0
        _retimed(links, dues, homes, count, link, now)
        at += 1
    count[TOUCHED] = 0
