"""Large synthetic steps for the engine's benchmark: ops by the million, made with numpy alone."""

import numpy as np
import numpy.typing as npt

from paceline.model import Cluster, Graph, Kind, Link, Machine, Times, Work

LANES = ("compute", "copy", "host", "comm", "send", "receive")
Ints = npt.NDArray[np.int64]


def data_parallel(workers: int, per_worker: int, seed: int = 0) -> tuple[Graph, Times]:
    """Lanes alone: three lanes a worker with dependencies across, every 20th op a collective."""
    draw = np.random.default_rng(seed)
    meets = np.arange(per_worker) % 20 == 19
    lane = np.where(meets, 3, draw.integers(0, 3, per_worker))
    kind = np.where(meets, Kind.COLLECTIVE, Kind.COMPUTE)
    match = np.where(meets, np.cumsum(meets) - 1, -1)
    waits = np.maximum(np.arange(per_worker) - draw.integers(1, 8, per_worker), 0)[1:]
    ops = workers * per_worker
    after = (waits + np.arange(workers, dtype=np.int32)[:, None] * per_worker).ravel()
    count = np.ones((workers, per_worker), dtype=np.int64)
    count[:, 0] = 0
    graph = graph_of(
        kind=np.tile(kind, workers),
        worker=np.repeat(np.arange(workers, dtype=np.int32), per_worker),
        lane=np.tile(lane, workers),
        match=np.tile(match, workers),
        matches=int(meets.sum()),
        count=count.ravel(),
        after=after,
        workers=workers,
    )
    return graph, Times(
        duration_ns=draw.integers(1_000, 100_000, ops), lead_ns=draw.integers(0, 1_000, ops)
    )


def talkative(
    workers: int, per_worker: int, machines: int, *, near: bool, share: float = 0.4, seed: int = 0
) -> tuple[Graph, Times, Cluster]:
    """Of all ops, `share` are the sends and receives of flows; workers of a machine share its link.

    Messages go to the worker opposite on the next machine (`near`) or to anybody; computation
    waits for what was received before it in half of the cases.
    """
    draw = np.random.default_rng(seed)
    ops, slots = workers * per_worker, workers // machines
    messages = int(ops * share / 2)
    source = draw.integers(0, workers, messages)
    apart = slots if near else draw.integers(1, workers, messages)
    target = (source + apart) % workers
    computing = ops - 2 * messages
    moment = draw.random(messages)
    worker = np.concatenate([draw.integers(0, workers, computing), source, target])
    when = np.concatenate([draw.random(computing), moment, moment + 1e-9])
    kind = np.repeat([Kind.COMPUTE, Kind.SEND, Kind.RECV], [computing, messages, messages])
    number = np.arange(messages)
    match = np.concatenate([np.full(computing, -1), number, number])
    order = np.lexsort((when, worker))
    worker, kind, match = worker[order], kind[order], match[order]
    waits = waits_for(worker, kind, draw)
    size = np.where(match >= 0, draw.integers(50_000, 150_000, messages)[match], -1)
    graph = graph_of(
        kind=kind,
        worker=worker,
        lane=np.select([kind == Kind.SEND, kind == Kind.RECV], [4, 5], 0),
        match=match,
        matches=messages,
        count=(waits >= 0).astype(np.int64),
        after=waits[waits >= 0],
        workers=workers,
        size=size,
    )
    own = np.where(match >= 0, -1, draw.integers(1_000, 100_000, ops))
    return (
        graph,
        Times(duration_ns=own, lead_ns=draw.integers(0, 1_000, ops)),
        star(machines, slots),
    )


def waits_for(worker: Ints, kind: Ints, draw: np.random.Generator) -> Ints:
    """A send waits for the last computation before it, every second computation for a receive."""
    place = np.arange(len(kind))
    computed = np.maximum.accumulate(np.where(kind == Kind.COMPUTE, place, -1))
    received = np.maximum.accumulate(np.where(kind == Kind.RECV, place, -1))
    half = (kind == Kind.COMPUTE) & (draw.random(len(kind)) < 0.5)
    waits = np.where(kind == Kind.SEND, computed, np.where(half, received, -1))
    return np.where((waits >= 0) & (worker[waits] == worker), waits, -1)


def crowd(senders: int, rounds: int, seed: int = 0) -> tuple[Graph, Times, Cluster]:
    """All senders, each on a machine of its own, send one message after another to one machine."""
    draw = np.random.default_rng(seed)
    messages = senders * rounds
    source = np.repeat(np.arange(1, senders + 1), rounds)
    number = np.arange(messages)
    graph = graph_of(
        kind=np.repeat([Kind.SEND, Kind.RECV], messages),
        worker=np.concatenate([source, np.zeros(messages, dtype=np.int64)]),
        lane=np.concatenate([np.zeros(messages, dtype=np.int64), source]),
        match=np.tile(number, 2),
        matches=messages,
        count=np.zeros(2 * messages, dtype=np.int64),
        after=np.empty(0, dtype=np.int32),
        workers=senders + 1,
        size=np.tile(draw.integers(50_000, 150_000, messages), 2),
        lanes=tuple(f"from {sender}" for sender in range(senders + 1)),
    )
    unknown = np.full(2 * messages, -1)
    times = Times(duration_ns=unknown, lead_ns=np.zeros(2 * messages, dtype=np.int64))
    return graph, times, star(senders + 1, 1)


def star(machines: int, slots: int) -> Cluster:
    """Machines around one switch, 10 Gbit/s each."""
    names = [f"m{at}" for at in range(machines)]
    return Cluster(
        machines=tuple(Machine(name=name, slots=slots) for name in names),
        links=tuple(
            Link(a=name, b="switch", bytes_per_s=1.25e9, latency_ns=5_000) for name in names
        ),
    )


def graph_of(
    *,
    kind: Ints,
    worker: npt.NDArray[np.integer],
    lane: Ints,
    match: Ints,
    matches: int,
    count: Ints,
    after: npt.NDArray[np.integer],
    workers: int,
    size: Ints | None = None,
    lanes: tuple[str, ...] = LANES,
) -> Graph:
    """A graph of these columns; what they do not say is not known."""
    nothing = np.full(len(kind), -1, dtype=np.int32)
    starts = np.zeros(len(kind) + 1, dtype=np.int64)
    np.cumsum(count, out=starts[1:])
    return Graph(
        kind=kind.astype(np.uint8),
        phase=np.zeros(len(kind), dtype=np.uint8),
        worker=worker.astype(np.int32),
        lane=lane.astype(np.int32),
        work=np.zeros(len(kind), dtype=np.int32),
        layer=nothing,
        bucket=nothing,
        size_bytes=nothing.astype(np.int64) if size is None else size,
        match=match.astype(np.int32),
        after_from=starts,
        after_op=after.astype(np.int32),
        match_group=np.full(matches, -1, dtype=np.int32),
        workers=tuple(range(workers)),
        works=(Work(name="work", kind=Kind.COMPUTE),),
        lanes=lanes,
    )
