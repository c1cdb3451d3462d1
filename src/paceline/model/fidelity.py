"""How closely a lab does what its cluster file asks for: asked beside measured."""

import msgspec


class LinkFidelity(msgspec.Struct, frozen=True, kw_only=True):
    """One way of a link, from a to b; what was not asked for is None."""

    a: str
    b: str
    asked_bit_per_s: float | None
    measured_bit_per_s: float | None
    asked_latency_us: float | None
    measured_latency_us: float | None


class MachineFidelity(msgspec.Struct, frozen=True, kw_only=True):
    """Cores that a machine may use, and that busy processes on it got."""

    name: str
    asked_cores: float | None
    measured_cores: float | None


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """All links and machines of a lab, and how it stood: `root`, `user` or `loopback`."""

    mode: str
    links: tuple[LinkFidelity, ...]
    machines: tuple[MachineFidelity, ...]
    notes: tuple[str, ...] = ()

    def errors(self) -> tuple[float, ...]:
        """The relative errors of all that was asked for and measured."""
        pairs = [(x.asked_bit_per_s, x.measured_bit_per_s) for x in self.links]
        pairs += [(x.asked_latency_us, x.measured_latency_us) for x in self.links]
        pairs += [(x.asked_cores, x.measured_cores) for x in self.machines]
        return tuple(
            measured / asked - 1 for asked, measured in pairs if asked and measured is not None
        )
