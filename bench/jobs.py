"""Synthetic data-parallel jobs with a known fault, as the traces that a real recorder would leave.

A host lane launches kernels on a device lane; gradients go out in buckets over a communication
lane while backward still runs, as one all-reduce each or as the hops of a ring. Durations carry the
noise of bench/noise.py; every worker has a clock of its own. The generator plays the job itself,
step by step: nothing of paceline's simulator is in it.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from noise import GPU, Noise, Weather
from paceline.model import Facts, Kind, Phase, Ping, Trace, TraceBuilder

US, MS = 1_000, 1_000_000
ORIGIN_NS = 1_700_000_000_000_000_000
PHASES = ("load", "forward", "backward", "communication", "update")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong with one worker (or its outgoing link): extra milliseconds a step.

    cause: slow_compute (kernels longer), slow_host (every launch longer), input (loading longer),
    stall (one pause of `ms`, in the share `rate` of the steps), slow_link (its outgoing hops
    `factor` times slower), delay (its outgoing hops later by `ms` each).
    """

    cause: str
    worker: int
    ms: float = 0.0
    factor: float = 1.0
    phase: str = "backward"
    rate: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large the job is and how it talks."""

    workers: int = 8
    steps: int = 24
    layers: int = 12
    buckets: int = 4
    kernel_ms: float = 2.0
    launch_us: float = 60.0
    load_ms: float = 3.0
    bucket_bytes: int = 25_000_000
    bytes_per_s: float = 3e9
    latency_us: float = 30.0
    hops: bool = False
    noise: Noise = GPU
    clock_ms: float = 5.0
    drift_ppm: float = 20.0


@dataclass
class _Worker:
    rank: int
    builder: TraceBuilder = field(default_factory=TraceBuilder)
    offset: int = 0
    drift: float = 0.0
    host: float = 0.0  # when each lane is free again, true time in ns
    device: float = 0.0
    ready: dict[int, int] = field(default_factory=dict)  # last kernel of each bucket
    talked: list[int] = field(default_factory=list)  # last events that brought gradients


def traces(
    shape: Shape, fault: Fault | None = None, *, seed: int = 0, day: int | None = None
) -> tuple[Trace, ...]:
    """One trace a worker; the same job on another day has other noise."""
    draw = np.random.default_rng(seed)
    base = _Base(shape, draw)
    weather = Weather(shape.noise, shape.workers, draw)
    if day is not None:
        draw = weather.draw = np.random.default_rng([seed, day])
    workers = [
        _Worker(
            rank=rank,
            offset=int(draw.normal(0, shape.clock_ms * MS)) if rank else 0,
            drift=draw.normal(0, shape.drift_ppm) * 1e-6 if rank else 0.0,
        )
        for rank in range(shape.workers)
    ]
    group = tuple(range(shape.workers))
    for step in range(shape.steps):
        weather.next_step()
        _step(shape, base, workers, fault, step, weather)
    return tuple(
        one.builder.trace(
            rank,
            clock="unix",
            facts=Facts(
                machine=f"host{rank}", device="gpu", workers=len(group), backend="synthetic"
            ),
            pings=_pings(one, workers[0], draw) if rank else (),
        )
        for rank, one in enumerate(workers)
    )


def _pings(one: "_Worker", first: "_Worker", draw: np.random.Generator) -> tuple[Ping, ...]:
    """Clock exchanges with the first worker at start and end, as a recorder makes them."""
    found: list[Ping] = []
    for at in (0.0, one.host):
        for attempt in range(8):
            sent = at + attempt * MS
            there = sent + draw.uniform(30, 200) * US
            back = there + draw.uniform(30, 200) * US
            found.append(
                Ping(
                    peer=0, sent_ns=_own(one, sent), peer_ns=_own(first, there),
                    received_ns=_own(one, back),
                )
            )  # fmt: skip
    return tuple(found)


def _own(one: "_Worker", true: float) -> int:
    """A true time as this worker's clock shows it."""
    return ORIGIN_NS + one.offset + round(float(true) * (1 + one.drift))


class _Base:
    """The typical duration of each kernel, shared by all workers."""

    def __init__(self, shape: Shape, draw: np.random.Generator) -> None:
        self.forward = shape.kernel_ms * MS * draw.uniform(0.5, 1.5, shape.layers)
        self.backward = 2 * self.forward


def _step(
    shape: Shape,
    base: _Base,
    workers: list[_Worker],
    fault: Fault | None,
    step: int,
    weather: Weather,
) -> None:
    ready = np.zeros((shape.workers, shape.buckets))
    for rank, one in enumerate(workers):
        mine = fault if fault is not None and fault.worker == rank else None
        ready[rank] = _compute(shape, base, one, mine, step, weather)
    done = _exchange(shape, workers, fault, step, ready, weather)
    for rank, one in enumerate(workers):
        mine = fault if fault is not None and fault.worker == rank else None
        _update(shape, one, mine, step, float(done[rank]), weather)


def _stalls(fault: Fault | None, phase: str, step: int) -> float:
    """Drawn apart from the noise, which is the same with and without a fault."""
    if fault is None or fault.cause != "stall" or fault.phase != phase:
        return 0.0
    chance = np.random.default_rng([step, round(fault.ms * MS)]).random()
    return fault.ms * MS if chance < fault.rate else 0.0


def _compute(
    shape: Shape,
    base: _Base,
    one: _Worker,
    fault: Fault | None,
    step: int,
    weather: Weather,
) -> npt.NDArray[np.float64]:
    one.talked.clear()
    load = weather.op(one.rank, shape.load_ms * MS)
    if fault is not None and fault.cause == "input":
        load += fault.ms * MS
    one.host += 20 * US + _stalls(fault, "load", step)
    _put(one, "next batch", Kind.LOAD, "main", one.host, load, step=step, phase=Phase.OTHER)
    one.host += load
    ready = np.zeros(shape.buckets)
    kernels = 2 * shape.layers
    for position in range(kernels):
        backward = position >= shape.layers
        layer = kernels - 1 - position if backward else position
        name = "backward" if backward else "forward"
        phase = Phase.BACKWARD if backward else Phase.FORWARD
        typical = float((base.backward if backward else base.forward)[layer])
        duration = weather.op(one.rank, typical)
        launch = weather.op(one.rank, shape.launch_us * US)
        if fault is not None and fault.phase == name and fault.cause == "slow_compute":
            duration += fault.ms * MS / shape.layers
        if fault is not None and fault.cause == "slow_host":
            launch += fault.ms * MS / kernels
        gap = weather.op(one.rank, 5 * US)
        if layer == shape.layers // 2:
            gap += _stalls(fault, name, step)
        one.host += gap
        host = _put(
            one, f"launch {name} {layer}", Kind.HOST, "main", one.host, launch,
            step=step, phase=phase, layer=f"layer{layer}",
        )  # fmt: skip
        one.host += launch
        start = max(one.device, one.host) + 2 * US
        kernel = _put(
            one, f"{name} {layer}", Kind.COMPUTE, "stream 7", start, duration,
            step=step, phase=phase, layer=f"layer{layer}", after=(host,),
        )  # fmt: skip
        one.device = start + duration
        if backward:
            bucket = (shape.layers - 1 - layer) * shape.buckets // shape.layers
            ready[bucket] = one.device
            one.ready[bucket] = kernel
    return ready


def _exchange(
    shape: Shape,
    workers: list[_Worker],
    fault: Fault | None,
    step: int,
    ready: npt.NDArray[np.float64],
    weather: Weather,
) -> npt.NDArray[np.float64]:
    free = np.zeros(shape.workers)
    for bucket in range(shape.buckets):
        arrive = np.maximum(free, ready[:, bucket]) + 10 * US
        if shape.hops:
            free = _ring(shape, workers, fault, step, bucket, arrive, weather)
            continue
        wire = 2 * (shape.workers - 1) / shape.workers * shape.bucket_bytes / shape.bytes_per_s
        transfer = wire * 1e9 + 2 * (shape.workers - 1) * shape.latency_us * US
        transfer *= weather.wire()
        end = arrive.max() + transfer
        for rank, one in enumerate(workers):
            leave = end + weather.woken()
            group = one.builder.group("dp", tuple(range(shape.workers)))
            event = _put(
                one, "all_reduce", Kind.COLLECTIVE, "stream 20", float(arrive[rank]),
                leave - float(arrive[rank]), step=step, phase=Phase.BACKWARD, group=group,
                sequence=step * shape.buckets + bucket, size_bytes=shape.bucket_bytes,
                bucket=bucket, algorithm="ring", after=(one.ready[bucket],),
            )  # fmt: skip
            one.talked.append(event)
            free[rank] = leave
    return free


def _ring(
    shape: Shape,
    workers: list[_Worker],
    fault: Fault | None,
    step: int,
    bucket: int,
    arrive: npt.NDArray[np.float64],
    weather: Weather,
) -> npt.NDArray[np.float64]:
    count = shape.workers
    part = shape.bucket_bytes // count
    at = arrive.copy()
    got: list[tuple[int, ...]] = [(one.ready[bucket],) for one in workers]
    for turn in range(2 * (count - 1)):
        wire = part / shape.bytes_per_s * 1e9 * np.array([weather.wire() for _ in range(count)])
        late = np.full(count, shape.latency_us * US)
        if fault is not None and fault.cause == "slow_link":
            wire[fault.worker] *= fault.factor
        if fault is not None and fault.cause == "delay":
            late[fault.worker] += fault.ms * MS
        begin = at.copy()
        for rank, one in enumerate(workers):
            sender = (rank - 1) % count
            start = max(begin[rank], begin[sender])
            end = start + wire[sender] + late[sender]
            group = one.builder.group("dp", tuple(range(count)))
            keys = {"step": step, "group": group, "bucket": bucket, "round": turn,
                    "sequence": (step * shape.buckets + bucket), "size_bytes": part}  # fmt: skip
            sent = begin[rank] + wire[rank]
            _put(
                one, "hop", Kind.SEND, "send", begin[rank], wire[rank], peer=(rank + 1) % count,
                chunk=(rank - turn) % count, phase=Phase.BACKWARD, after=got[rank], **keys,
            )  # fmt: skip
            event = _put(
                one, "hop", Kind.RECV, "recv", begin[rank], end - begin[rank], peer=sender,
                chunk=(sender - turn) % count, phase=Phase.BACKWARD, after=got[rank], **keys,
            )  # fmt: skip
            got[rank] = (event,)
            at[rank] = max(end, sent)
    for rank, one in enumerate(workers):
        one.talked.extend(got[rank])
    return at


def _update(
    shape: Shape,
    one: _Worker,
    fault: Fault | None,
    step: int,
    done: float,
    weather: Weather,
) -> None:
    duration = weather.op(one.rank, shape.kernel_ms * MS)
    if fault is not None and fault.phase == "update" and fault.cause == "slow_compute":
        duration += fault.ms * MS
    one.host += 5 * US + _stalls(fault, "update", step)
    host = _put(one, "launch update", Kind.HOST, "main", one.host, shape.launch_us * US,
                step=step, phase=Phase.UPDATE)  # fmt: skip
    one.host += shape.launch_us * US
    start = max(one.device, one.host, done) + 2 * US
    kernel = _put(one, "update", Kind.COMPUTE, "stream 7", start, duration,
                  step=step, phase=Phase.UPDATE, after=(host, *one.talked))  # fmt: skip
    one.device = start + duration
    sync = max(one.host, one.device) - one.host + 3 * US
    _put(one, "cudaDeviceSynchronize", Kind.HOST, "main", one.host, sync,
         step=step, phase=Phase.UPDATE, after=(kernel,))  # fmt: skip
    one.host += sync


def _put(
    one: _Worker,
    name: str,
    kind: Kind,
    lane: str,
    start: float,
    duration: float,
    *,
    after: tuple[int, ...] = (),
    **rest: object,
) -> int:
    """Writes the event on the worker's own clock; returns its index."""
    begin, end = _own(one, start), _own(one, start + duration)
    links = [(one.rank, index) for index in after]
    return one.builder.add(name, kind, lane, begin, end - begin, after=links, **rest)  # type: ignore[arg-type]
