"""Random jobs on wrong clocks, with the truth beside: `made(seed)`.

Ends of collectives scatter in one of several ways, some workers are always a little late, a few
threads are very late. Messages have a least latency and a random one on top.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.model import Alignment, Kind, Trace, TraceBuilder
from paceline.stitch.alignments import mapped_ns

EPOCH = 1_700_000_000_000_000_000
_SCATTERS = ("gauss", "exponential", "lognormal", "uniform")

Row = tuple[Kind, float, float, dict[str, int]]


@dataclass(frozen=True)
class Clock:
    """A clock that showed the truth plus an offset at its worker's first event, and then drifts."""

    offset_ns: int
    drift_ppm: float
    since_ns: float

    def shows(self, true_ns: float) -> int:
        fast = self.drift_ppm * 1e-6 * (true_ns - self.since_ns)
        return EPOCH + round(true_ns + self.offset_ns + fast)

    def truth(self, raw_ns: npt.NDArray[np.int64], first_ns: int) -> npt.NDArray[np.int64]:
        """The true times of what it showed."""
        rate = self.drift_ppm * 1e-6
        drifted = np.rint(rate / (1 + rate) * (raw_ns - first_ns)).astype(np.int64)
        return raw_ns - self.offset_ns - drifted


@dataclass(frozen=True)
class Made:
    """A job: its traces, and the clock of each. The first worker's clock is true."""

    traces: list[Trace]
    clocks: list[Clock]

    def error_ns(self, index: int, alignment: Alignment) -> int:
        """The worst error of aligned times over the whole trace."""
        trace = self.traces[index]
        ends = np.array([trace.start_ns.min(), trace.start_ns.max()])
        true = self.clocks[index].truth(ends, int(ends[0]))
        return int(np.abs(mapped_ns(ends, alignment) - true).max())


def made(
    seed: int, *, workers: int | None = None, count: int | None = None,
    span_ns: float | None = None, messages: bool | None = None,
) -> Made:  # fmt: skip
    """A job that is random in everything not said."""
    generator = np.random.default_rng(seed)
    workers = workers or int(generator.integers(2, 9))
    count = count or int(10 ** generator.uniform(0.7, 2.7))
    span_ns = span_ns or 10 ** generator.uniform(7.2, 10.8)
    messages = bool(generator.random() < 0.4) if messages is None else messages
    rows: list[list[Row]] = [[] for _ in range(workers)]
    _collectives(generator, rows, np.sort(generator.uniform(0, span_ns, count)))
    if messages:
        _messages(generator, rows, count, span_ns)
    clocks = [Clock(0, 0.0, 0.0)]
    for own in rows[1:]:
        offset, ppm = int(generator.integers(-(10**9), 10**9)), float(generator.uniform(-100, 100))
        clocks.append(Clock(offset, ppm, min(row[1] for row in own)))
    return Made(
        [_trace(w, own, clock) for w, (own, clock) in enumerate(zip(rows, clocks, strict=True))],
        clocks,
    )


def _collectives(
    generator: np.random.Generator, rows: list[list[Row]], ends: npt.NDArray[np.float64]
) -> None:
    size, scatter = 10 ** generator.uniform(3, 5.5), str(generator.choice(_SCATTERS))
    bias = generator.normal(0, generator.uniform(0, 0.3) * size, len(rows))
    very_late = float(generator.choice([0.0, 0.02]))
    for sequence, end in enumerate(ends):
        noise = bias + _noise(generator, scatter, size, len(rows))
        late = generator.random(len(rows)) < very_late
        noise = noise + late * generator.exponential(50 * size, len(rows))
        arrived = end - 10 ** generator.uniform(4, 6)
        for worker, own in enumerate(rows):
            last = worker == sequence % len(rows)
            start = arrived if last else arrived - generator.exponential(5e5)
            finished = max(end + noise[worker], arrived + 1000)
            own.append((Kind.COLLECTIVE, start, finished, {"sequence": sequence}))


def _noise(
    generator: np.random.Generator, scatter: str, size: float, count: int
) -> npt.NDArray[np.float64]:
    if scatter == "gauss":
        return generator.normal(0, size, count)
    if scatter == "exponential":
        return generator.exponential(size, count)
    if scatter == "lognormal":
        return size * generator.lognormal(0, 1, count)
    return generator.uniform(-size, size, count)


def _messages(
    generator: np.random.Generator, rows: list[list[Row]], count: int, span_ns: float
) -> None:
    for sequence in range(2 * count):
        for worker, own in enumerate(rows):
            peer = (worker + (1 if sequence % 2 else -1)) % len(rows)
            sent = generator.uniform(0, span_ns)
            left = sent + generator.exponential(3e4)
            received = sent + 2e4 + generator.exponential(1e5)
            own.append((Kind.SEND, sent, left, {"peer": peer, "sequence": sequence}))
            posted = sent - generator.exponential(3e5)
            ends = {"peer": worker, "sequence": sequence}
            rows[peer].append((Kind.RECV, posted, received, ends))


def _trace(worker: int, rows: list[Row], clock: Clock) -> Trace:
    builder = TraceBuilder()
    group = builder.group("dp")
    for kind, start, end, said in sorted(rows, key=lambda row: row[1]):
        own = clock.shows(start)
        more = {**said, "group": group} if kind == Kind.COLLECTIVE else said
        builder.add(kind.name.lower(), kind, "lane", own, clock.shows(end) - own, **more)
    return builder.trace(worker, clock="unix")
