"""A cluster as the lab builds it: numbered places with addresses, wires between them, and ways.

A place is a machine or a switch; each has one address, whatever number of links. Where the cluster
has no links, all machines hang on one switch without a limit.
"""

import ipaddress
from dataclasses import dataclass

from paceline.lab.ways import ways
from paceline.model import Cluster, InputError, Link, Machine, verify

MOST_MACHINES = 64
MOST_PLACES = 256
NETWORK = ipaddress.IPv4Network("10.211.0.0/16")
LONE_SWITCH = "switch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One link of the lab; both its interfaces are called `device`."""

    number: int
    a: int
    b: int
    link: Link

    @property
    def device(self) -> str:
        """The name of the interface at either end."""
        return f"link{self.number}"

    @property
    def bytes_per_s(self) -> tuple[float | None, float | None]:
        """The rates from a to b and back."""
        back = self.link.back_bytes_per_s
        return self.link.bytes_per_s, self.link.bytes_per_s if back is None else back


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Machines come first among the places, in file order; then switches."""

    machines: tuple[Machine, ...]
    names: tuple[str, ...]
    wires: tuple[Wire, ...]
    ways: tuple[tuple[int | None, ...], ...]  # from a place to a place: the number of the next wire

    def place(self, name: str) -> int:
        """The number of a machine or switch."""
        if name not in self.names:
            raise InputError(
                f"{name!r} is no machine and no switch of this cluster.",
                cure=f"There are: {', '.join(self.names)}.",
            )
        return self.names.index(name)

    def wire(self, a: str, b: str) -> tuple[Wire, bool]:
        """The wire between two ends, and whether it was asked for the other way round."""
        ends = self.place(a), self.place(b)
        for wire in self.wires:
            if ends in {(wire.a, wire.b), (wire.b, wire.a)}:
                return wire, ends != (wire.a, wire.b)
        raise InputError(f"No link joins {a} and {b}.", cure="Name the two ends of one link.")

    def address(self, place: int) -> str:
        """The address of a place."""
        return str(NETWORK[place + 1])

    def device(self, place: int) -> str:
        """The interface that holds the address of a place: that of its first link."""
        return self.at(place)[0].device

    def at(self, place: int) -> tuple[Wire, ...]:
        """The wires that end at a place."""
        return tuple(wire for wire in self.wires if place in {wire.a, wire.b})

    def hosts(self) -> str:
        """What /etc/hosts says on every machine, so that machines find each other by name."""
        lines = ["127.0.0.1 localhost"]
        for at, name in enumerate(self.names):
            own = f"{self.address(at)} {host_name(name, at)}"
            lines += [own, f"::ffff:{own}"]  # torch looks it up as it sees it on its IPv6 socket
        return "\n".join(lines) + "\n"


def host_name(name: str, place: int) -> str:
    """The name as a host may bear it; odd ones are numbered instead."""
    plain = name.isascii() and name.replace("-", "").replace(".", "").replace("_", "").isalnum()
    return name if plain and name[0].isalnum() and len(name) <= 63 else f"machine-{place}"


def layout(cluster: Cluster) -> Layout:
    """The layout of a cluster, all of whose machines reach each other."""
    verify(cluster)
    machines = cluster.machines
    if not machines:
        raise InputError(
            "The cluster has no machines.",
            expected="The lab needs at least one; it does not rent offers.",
        )
    if len(machines) > MOST_MACHINES:
        raise InputError(
            f"The cluster has {len(machines)} machines.",
            expected=f"The lab holds at most {MOST_MACHINES}.",
            cure="Leave some out.",
        )
    named = [machine.name for machine in machines]
    links = cluster.links or _star(named)
    names = tuple(dict.fromkeys([*named, *(end for link in links for end in (link.a, link.b))]))
    if len(names) > MOST_PLACES:
        raise InputError(
            f"The cluster has {len(names) - len(named)} switches.",
            expected=f"The lab holds at most {MOST_PLACES} machines and switches.",
        )
    place = {name: at for at, name in enumerate(names)}
    wires = tuple(
        Wire(number=at, a=place[link.a], b=place[link.b], link=link)
        for at, link in enumerate(links)
    )
    found = ways(len(names), [(w.a, w.b, w.link.latency_ns or 0) for w in wires])
    _reachable(named, found)
    return Layout(machines=machines, names=names, wires=wires, ways=found)


def _star(names: list[str]) -> tuple[Link, ...]:
    switch = LONE_SWITCH
    while switch in names:
        switch += "-"
    return tuple(Link(a=name, b=switch) for name in names)


def _reachable(machines: list[str], found: tuple[tuple[int | None, ...], ...]) -> None:
    for at, name in enumerate(machines):
        if at and found[0][at] is None:
            raise InputError(
                f"No links lead from machine {machines[0]} to machine {name}.",
                expected="All machines of a lab must reach each other, through switches or others.",
                cure="Add the missing link, or name its ends as the other links do.",
            )
