"""How far the engine's sharing of links is from exact max-min, and how far the crude rule is.

Small cases: messages at random between machines of a star, of racks, or of a row, whose links are
unlike each other; played by the engine, and in plain Python by rules worked out for all flows at
every event.
"""

from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine_jobs import crowd, graph_of
from engine_reference import Routes, by_rule, equal_share, max_min
from engine_rival import laid, rival
from paceline import simulate
from paceline.model import Cluster, Graph, Kind, Link, Machine, Times

SHAPES = ("star", "racks", "row")


class Error(NamedTuple):
    """Of one case, in % of the exact step: the step's error, and the worst error of an op's end."""

    step: float
    end: float


def case(seed: int) -> tuple[Graph, Times, Cluster]:
    """Up to 60 messages on up to 12 machines, one worker each, on up to 4 lanes a worker."""
    draw = np.random.default_rng(seed)
    cluster = made(SHAPES[seed % len(SHAPES)], draw)
    machines = len(cluster.machines)
    messages = int(draw.integers(5, 61))
    source = draw.integers(0, machines, messages)
    target = (source + draw.integers(1, machines, messages)) % machines
    number = np.arange(messages)
    graph = graph_of(
        kind=np.repeat([Kind.SEND, Kind.RECV], messages),
        worker=np.concatenate([source, target]),
        lane=np.concatenate([draw.integers(0, 4, messages), 4 + number]),
        match=np.tile(number, 2),
        matches=messages,
        count=np.zeros(2 * messages, dtype=np.int64),
        after=np.empty(0, dtype=np.int32),
        workers=machines,
        size=np.tile(draw.lognormal(15, 1.5, messages).astype(np.int64), 2),
        lanes=tuple(f"lane {at}" for at in range(4 + messages)),
    )
    lead = np.append(draw.integers(0, 5_000_000, messages), np.zeros(messages, np.int64))
    return graph, Times(duration_ns=np.full(2 * messages, -1), lead_ns=lead), cluster


def made(shape: str, draw: np.random.Generator) -> Cluster:
    """A tree of links whose rates differ by a factor of about ten, and differ by direction."""
    pairs: list[tuple[str, str]] = []
    if shape == "star":
        names = [f"m{at}" for at in range(int(draw.integers(3, 13)))]
        pairs = [(name, "switch") for name in names]
    elif shape == "racks":
        racks, slots = int(draw.integers(2, 5)), int(draw.integers(2, 4))
        names = [f"m{at}" for at in range(racks * slots)]
        pairs = [(name, f"leaf{at // slots}") for at, name in enumerate(names)]
        pairs += [(f"leaf{at}", "spine") for at in range(racks)]
    else:
        names = [f"m{at}" for at in range(int(draw.integers(3, 7)))]
        pairs = list(pairwise(names))
    rates = 1e9 * draw.lognormal(0, 0.8, (len(pairs), 2))
    return Cluster(
        machines=tuple(Machine(name=name) for name in names),
        links=tuple(
            Link(a=a, b=b, bytes_per_s=float(there), back_bytes_per_s=float(back), latency_ns=5_000)
            for (a, b), (there, back) in zip(pairs, rates, strict=True)
        ),
    )


def routes(graph: Graph, cluster: Cluster) -> Routes:
    """The links of each flow, by its receive; worker i is on machine i of a tree."""
    send = {int(graph.match[op]): op for op in np.flatnonzero(graph.kind == Kind.SEND)}
    names = [machine.name for machine in cluster.machines]
    return {
        int(op): path(cluster, names[graph.worker[send[int(graph.match[op])]]],
                      names[graph.worker[op]])
        for op in np.flatnonzero(graph.kind == Kind.RECV)
    }  # fmt: skip


def path(cluster: Cluster, source: str, target: str) -> list[int]:
    """The only way from one machine to another; link 2k is link k from a to b."""
    came: dict[str, list[int]] = {source: []}
    todo = deque([source])
    while target not in came:
        at = todo.popleft()
        for number, link in enumerate(cluster.links):
            for here, there, side in ((link.a, link.b, 0), (link.b, link.a, 1)):
                if here == at and there not in came:
                    came[there] = [*came[at], 2 * number + side]
                    todo.append(there)
    return came[target]


def compared(ends: npt.NDArray[np.number], exact: npt.NDArray[np.number]) -> Error:
    """The error of some ends against the exact ones."""
    step = float(exact.max())
    return Error(
        100 * abs(float(ends.max()) - step) / step, 100 * float(np.abs(ends - exact).max()) / step
    )


def errors(cases: int) -> tuple[list[Error], list[Error]]:
    """The errors of the engine, and those of the crude rule, case by case."""
    ours: list[Error] = []
    crude: list[Error] = []
    for seed in range(cases):
        graph, times, cluster = case(seed)
        ways = routes(graph, cluster)
        exact = np.array(by_rule(graph, times, cluster, ways, max_min)[1])
        ours.append(compared(simulate.timeline(graph, times, cluster).end_ns, exact))
        rough = np.array(by_rule(graph, times, cluster, ways, equal_share)[1])
        crude.append(compared(rough, exact))
    return ours, crude


def crowds(senders: int, rounds: int) -> Error:
    """The error of the engine where many routes cross one link, against the compiled rival.

    Half of the senders, or so, are held back by links of their own.
    """
    graph, times, cluster = crowd(senders, rounds)
    draw = np.random.default_rng(senders)
    own = 1.25e9 / senders * draw.lognormal(0.3, 1.0, len(cluster.links))
    own[0] = 1.25e9
    links = tuple(
        Link(a=link.a, b=link.b, bytes_per_s=float(rate), latency_ns=link.latency_ns)
        for link, rate in zip(cluster.links, own, strict=True)
    )
    cluster = Cluster(machines=cluster.machines, links=links)
    exact = rival(laid(graph, times, cluster))[1]
    return compared(simulate.timeline(graph, times, cluster).end_ns, exact)


def told(found: list[Error]) -> str:
    """Median, 95th percentile and worst of both errors."""
    table = np.array(found)
    figures = [
        value
        for column in (0, 1)
        for value in (*np.percentile(table[:, column], (50, 95)), table[:, column].max())
    ]
    return " | ".join(f"{value:.2g}" for value in figures)
