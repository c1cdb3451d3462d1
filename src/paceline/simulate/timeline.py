"""Plays a graph: when each op starts and ends, if its work takes so long.

An op is ready when its predecessor on the lane and all ops in `after` have ended, and starts its
lead later. Members of a collective start when they come and end together, the longest transfer
after the last has come. A send ends after its own duration whether or not the receiver is there;
the receive ends its transfer after both have started. A transfer that is not known is a flow over
the cluster's links: it begins with its send, which ends when the last byte has left; the receive
ends when that has arrived. So messages that cross cannot block each other.
"""

from collections.abc import Mapping

import numpy as np

from paceline.model import I64, Cluster, Graph, Timeline, Times, cyclic_ops
from paceline.simulate.collective import expanded, open_collectives
from paceline.simulate.engine import advance
from paceline.simulate.flow_list import FlowList, flow_list, messages, with_sends
from paceline.simulate.flows import played_with_flows
from paceline.simulate.lanes import Lanes, lanes, nobody, unplayed
from paceline.simulate.network import Network
from paceline.simulate.placement import places
from paceline.simulate.sound import short_enough, sound, waits_for_itself


def timeline(
    graph: Graph,
    times: Times,
    cluster: Cluster | None = None,
    *,
    machines: Mapping[int, str] | None = None,
    cores: Mapping[str, int] | None = None,
) -> Timeline:
    """When each op of a verified graph runs, in whole nanoseconds from the start of the step.

    `machines` says where each rank is; without it workers fill the cluster's slots in order.
    `cores` counts the cores of machines whose compute and host ops slow each other down; without
    it those count that the cluster gives.
    """
    sound(graph, times)
    network = None if cluster is None else Network.of(cluster)
    if cores is None and cluster is not None:
        cores = {m.name: m.cores for m in cluster.machines if m.cores is not None}
    meets = open_collectives(graph, times) if network is not None else np.empty(0, np.intp)
    if network is not None and len(meets):
        part = expanded(graph, times, meets, network, places(graph, network, machines))
        start, end = _played(part.graph, part.times, network, machines, cores or {})
        first = np.arange(len(graph)) + np.searchsorted(meets, np.arange(len(graph)))
        last = first.copy()
        last[meets] += 1
        start, end = start[first], end[last]
    else:
        start, end = _played(graph, times, network, machines, cores or {})
    if (end < 0).any():
        stuck = cyclic_ops(graph)
        raise waits_for_itself(graph, stuck if len(stuck) else np.flatnonzero(end < 0))
    return Timeline(start_ns=start, end_ns=end)


def _played(
    graph: Graph, times: Times, network: Network | None,
    machines: Mapping[int, str] | None, cores: Mapping[str, int],
) -> tuple[I64, I64]:  # fmt: skip
    """Start and end of every op, negative for those that never ran."""
    own = lanes(graph, times)
    receives = messages(graph, times, own)
    duration = with_sends(graph, times, own)
    flows = None
    if len(receives) or cores:
        flows = flow_list(graph, times, own, network, receives, machines, cores)
    else:
        short_enough(float(duration.sum(dtype=np.float64) + times.lead_ns.sum(dtype=np.float64)))
    return _run(graph, duration, times.lead_ns, own, flows)


def _run(
    graph: Graph, duration: I64, lead: I64, own: Lanes, flows: FlowList | None
) -> tuple[I64, I64]:
    ops, matches = len(graph), len(graph.match_group)
    count = len(own.first)
    opened = 0 if flows is None else len(flows.source)
    start, end = unplayed(ops), unplayed(ops)
    state = (
        own.code, own.partner, graph.after_from, graph.after_op, duration, lead,
        own.following, own.members, own.longest,
        own.first, graph.after_from[own.first], np.zeros(count, np.int64), nobody(count),
        nobody(ops), np.zeros(matches, np.int64), np.zeros(matches, np.int64), nobody(matches),
        unplayed(opened), unplayed(opened), nobody(opened), nobody(opened), nobody(opened),
        np.arange(count, dtype=np.int32)[::-1].copy(), count, start, end,
    )  # fmt: skip
    if flows is None:
        advance(*state)
    else:
        played_with_flows(*state, flows.source, *flows.roads, unplayed(opened))
    return start, end
