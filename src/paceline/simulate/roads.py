"""Lays out links, routes and flows for the compiled engine, before any flow has begun."""

from typing import NamedTuple

import numpy as np

from paceline.model import F64, I32, I64, chained
from paceline.simulate.heap import Records, heaps
from paceline.simulate.sharing import FLOW, HOP, LINK, ROUTE


class Roads(NamedTuple):
    """Records of the compiled engine, in the order in which it takes them."""

    links: Records
    hops: Records
    routes: Records
    flows: Records
    dues: Records
    homes: Records
    queue: Records
    beginning: Records
    tally: I64  # see `count` of the sharing


def roads(  # noqa: PLR0917 - seven columns of three tables
    rate: F64, ceiling: F64, route_from: I64, route_link: I32, route: I32, size: F64, latency: I64
) -> Roads:
    """Links of these rates with these routes, and flows that are to travel them."""
    hop_route = np.repeat(np.arange(len(route_from) - 1, dtype=np.int32), np.diff(route_from))
    links = np.zeros(len(rate), dtype=LINK)
    links["rate"] = rate
    links["ceiling"] = links["level"] = links["solved"] = ceiling
    links["room"] = chained(np.bincount(route_link, minlength=len(rate)))[:-1]
    hops = np.zeros(len(route_link), dtype=HOP)
    hops["link"], hops["route"] = route_link, hop_route
    routes = np.zeros(len(route_from) - 1, dtype=ROUTE)
    routes["first"], routes["stop"] = route_from[:-1], route_from[1:]
    routes["room"] = chained(np.bincount(route, minlength=len(routes)))[:-1]
    routes["home"] = -1
    flows = np.zeros(len(route), dtype=FLOW)
    flows["size"], flows["latency"], flows["route"] = size, latency, route
    return Roads(
        links=links,
        hops=hops,
        routes=routes,
        flows=flows,
        dues=heaps(len(links)),
        homes=heaps(max(len(hops), len(routes))),
        queue=heaps(len(flows)),
        beginning=heaps(len(flows)),
        tally=np.zeros(4, dtype=np.int64),
    )
