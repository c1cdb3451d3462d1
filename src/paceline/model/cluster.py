"""What machines and links exist, and what could be rented at which price and risk."""

import msgspec


class MachineKind(msgspec.Struct, frozen=True, kw_only=True):
    """A model of machine; `speed` is relative compute speed, 1.0 the reference."""

    name: str
    device: str | None = None
    memory_bytes: int | None = None
    speed: float | None = None


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine: `slots` workers fit, `busy` are taken; `speed` is a factor on its kind.

    `cores` are shared by what its workers compute; None means that they never run short.
    """

    name: str
    kind: str | None = None
    zone: str | None = None
    slots: int = 1
    busy: int = 0
    speed: float | None = None
    cores: int | None = None


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A full-duplex link from `a` to `b`; an end that is no machine is a switch.

    `back_bytes_per_s` is the rate from b to a, None when equal. Intervals (95 %) are given where
    the figure was measured.
    """

    a: str
    b: str
    bytes_per_s: float | None = None
    back_bytes_per_s: float | None = None
    latency_ns: int | None = None
    loss: float | None = None
    interval_bytes_per_s: tuple[float, float] | None = None
    back_interval_bytes_per_s: tuple[float, float] | None = None
    interval_latency_ns: tuple[int, int] | None = None


class History(msgspec.Struct, frozen=True, kw_only=True):
    """How many machines of an offer could be had in each slot of `gap_s` seconds."""

    name: str
    gap_s: float
    available: tuple[int, ...]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could be rented."""

    name: str
    kind: str
    usd_per_hour: float
    zone: str | None = None
    spot: bool = False
    limit: int | None = None
    notice_ns: int | None = None
    history: str | None = None  # path of an availability history, beside the cluster file


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """All machines, links and offers that paceline may reason about."""

    kinds: tuple[MachineKind, ...] = ()
    machines: tuple[Machine, ...] = ()
    links: tuple[Link, ...] = ()
    offers: tuple[Offer, ...] = ()
