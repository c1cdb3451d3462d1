"""Which ops open flows, where these travel and how large they are.

A flow is a message whose transfer time is not known: it begins with its send and takes the links
between the two machines. On a machine whose cores are counted, each host op is a flow as well, and
each compute op unless it runs on a device: of its own duration, over the machine's cores, of which
it gets at most one. So ops that are more than the cores get equal parts of them.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, Graph, Kind, ModelError, Times
from paceline.simulate.engine import OPENS, POSTS, TAKES
from paceline.simulate.lanes import Lanes
from paceline.simulate.network import Network
from paceline.simulate.placement import machine_names, places, worker_rows
from paceline.simulate.roads import Roads, roads
from paceline.simulate.sound import named, short_enough, unknown

Ops = npt.NDArray[np.intp]


class FlowList(NamedTuple):
    """The op that opens each flow, and the roads that they travel."""

    source: I32
    roads: Roads


def messages(graph: Graph, times: Times, lanes: Lanes) -> Ops:
    """The receives whose transfer is to be a flow; ModelError for any other unknown duration."""
    open_ops = np.flatnonzero(times.duration_ns < 0)
    if not len(open_ops):
        return open_ops
    kind, match = graph.kind[open_ops], graph.match[open_ops]
    talks = (match >= 0) & ((kind == Kind.SEND) | (kind == Kind.RECV))
    met = np.zeros(len(open_ops), dtype=bool)
    met[talks] = (lanes.sender[match[talks]] >= 0) & (lanes.receiver[match[talks]] >= 0)
    in_company = (kind == Kind.COLLECTIVE) & (match >= 0)
    met[in_company] = lanes.longest[match[in_company]] >= 0
    if not met.all():
        raise unknown(graph, open_ops[~met])
    return open_ops[met & (kind == Kind.RECV)]


def with_sends(graph: Graph, times: Times, lanes: Lanes) -> I64:
    """The durations; a send of unknown duration takes what its receive is known to take."""
    duration = times.duration_ns
    sends = np.flatnonzero((duration < 0) & (graph.kind == Kind.SEND))
    if not len(sends):
        return duration
    filled = duration.copy()
    filled[sends] = duration[lanes.receiver[graph.match[sends]]]
    filled.flags.writeable = False
    return filled


def flow_list(  # noqa: PLR0917 - all that flows follow from
    graph: Graph, times: Times, lanes: Lanes, network: Network | None, receives: Ops,
    machines: Mapping[int, str] | None, cores: Mapping[str, int],
) -> FlowList:  # fmt: skip
    """All flows of a graph; marks the ops that open and end them in `lanes`."""
    if len(receives) and network is None:
        raise unknown(graph, receives)
    network = network or Network.empty()
    row = worker_rows(graph)
    sends = lanes.sender[graph.match[receives]]
    size = _sizes(graph, receives, sends)
    busy, core = _on_cores(graph, network, machines, cores, row)
    at = places(graph, network, machines) if len(receives) else np.empty(0, np.int32)
    pair, route = _pairs(at[row[sends]], at[row[receives]], len(network.place))
    ways = network.routes(*pair)
    links, count = len(network.bytes_per_ns), len(pair[0])
    many = np.array(list(cores.values()), dtype=np.float64)
    out = roads(
        np.concatenate([network.bytes_per_ns, many]),
        np.concatenate([network.bytes_per_ns, np.minimum(many, 1.0)]),
        np.concatenate([ways.route_from, ways.route_from[-1] + 1 + np.arange(len(many))]),
        np.concatenate([ways.route_link, links + np.arange(len(many), dtype=np.int32)]),
        np.concatenate([route, count + core]).astype(np.int32),
        np.concatenate([size, times.duration_ns[busy]]).astype(np.float64),
        np.concatenate([ways.latency_ns[route], np.zeros(len(busy), dtype=np.int64)]),
    )
    _fits(times, out)
    flow = np.arange(len(receives) + len(busy), dtype=np.int32)
    posted = times.duration_ns[sends] >= 0
    lanes.code[sends] = np.where(posted, POSTS, OPENS)
    lanes.code[receives] = TAKES
    lanes.code[busy] = OPENS
    lanes.partner[sends] = lanes.partner[receives] = flow[: len(receives)]
    lanes.partner[busy] = flow[len(receives) :]
    return FlowList(np.concatenate([sends, busy]).astype(np.int32), out)


def _sizes(graph: Graph, receives: Ops, sends: I32) -> I64:
    size = np.where(
        graph.size_bytes[receives] < 0, graph.size_bytes[sends], graph.size_bytes[receives]
    )
    if (size < 0).any():
        op = int(receives[size < 0][0])
        raise ModelError(
            f"The size of {named(graph, op)} is not known, nor is its duration.",
            cure="Give it one of the two.",
        )
    return size


def _pairs(source: I32, target: I32, places: int) -> tuple[tuple[I32, I32], npt.NDArray[np.intp]]:
    """The different pairs, sorted, and which of them each flow travels."""
    both = source.astype(np.int64) * places + target
    if places**2 <= 4 * len(both) + 2**20:  # a table is faster than sorting
        taken = np.bincount(both, minlength=1) > 0
        used, route = np.flatnonzero(taken), (np.cumsum(taken) - 1)[both]
    else:
        used, route = np.unique(both, return_inverse=True)
    pair = (used // max(places, 1)).astype(np.int32), (used % max(places, 1)).astype(np.int32)
    return pair, route


def _on_cores(
    graph: Graph, network: Network, machines: Mapping[int, str] | None, cores: Mapping[str, int],
    row: I32,
) -> tuple[Ops, npt.NDArray[np.int64]]:  # fmt: skip
    """The ops that share counted cores, and which entry of `cores` each shares."""
    if not cores:
        return np.empty(0, np.intp), np.empty(0, np.int64)
    if min(cores.values()) < 1:
        raise ModelError("A machine has fewer than one core.", cure="Count at least one.")
    entry = {name: at for at, name in enumerate(cores)}
    names = machine_names(graph, network, machines)
    of_worker = np.array([entry.get(name, -1) for name in names], dtype=np.int64)
    apart = _with_device(network)
    computes = np.array([name not in apart for name in names], dtype=bool)[row]
    works = (graph.kind == Kind.HOST) | (graph.kind == Kind.COMPUTE) & computes
    busy = np.flatnonzero(works & (of_worker[row] >= 0))
    return busy, of_worker[row[busy]]


def _with_device(network: Network) -> set[str]:
    """The machines that compute on a device, so that their cores only serve host ops."""
    devices = {kind.name: kind.device for kind in network.cluster.kinds}
    return {
        machine.name
        for machine in network.cluster.machines
        if devices.get(machine.kind or "") not in {None, "cpu"}
    }


def _fits(times: Times, out: Roads) -> None:
    """No step takes longer than all its ops and flows one after the other, each alone."""
    hops, routes = out.hops, out.routes
    slowest = np.full(len(routes), np.inf)
    np.minimum.at(slowest, hops["route"], out.links["ceiling"][hops["link"]])
    alone = out.flows["size"] / slowest[out.flows["route"]] + out.flows["latency"]
    known = np.maximum(times.duration_ns, 0).sum(dtype=np.float64)
    short_enough(float(alone.sum() + known + times.lead_ns.sum(dtype=np.float64)))
