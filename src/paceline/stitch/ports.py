"""Links between machines read as ports of one switch: what a machine has is one way out and in.

Messages of a ring show each machine only its neighbors. If the rate between any two machines is
that of the slower of their ports, the ports are all there is to know, and they say what machines
that never talked would have between them.
"""

from collections.abc import Sequence

from paceline.model import Link
from paceline.stitch.ring_links import free_name

_FITS = 1.3  # a rate may be that many times more or less than its ports allow


def ports(links: Sequence[Link]) -> tuple[Link, ...] | None:
    """One link to a switch for each machine, or None where ports do not explain the links."""
    ways = [way for link in links for way in _ways(link)]
    machines = list(dict.fromkeys(end for a, b, _ in ways for end in (a, b)))
    if len(machines) < 3 or len(machines) > len(ways):
        return None
    fastest = {name: max(rate for a, b, rate in ways if name in (a, b)) for name in machines}
    for a, b, rate in ways:
        port = min(fastest[a], fastest[b])
        if not port / _FITS <= rate <= port * _FITS:
            return None
    switch = free_name(machines)
    latencies = [link.latency_ns for link in links if link.latency_ns is not None]
    latency = sorted(latencies)[len(latencies) // 2] // 2 if latencies else None
    return tuple(_port(name, switch, fastest[name], links, latency) for name in machines)


def _ways(link: Link) -> list[tuple[str, str, float]]:
    """The ways of a link whose rate was measured."""
    told = [(link.a, link.b, link.bytes_per_s), (link.b, link.a, link.back_bytes_per_s)]
    return [(a, b, rate) for a, b, rate in told if rate]


def _port(
    name: str, switch: str, rate: float, links: Sequence[Link], latency_ns: int | None
) -> Link:
    """A machine's port, with the interval of the link that showed its rate."""
    interval = next(
        (
            found
            for link in links
            for own, found in (
                (link.bytes_per_s, link.interval_bytes_per_s),
                (link.back_bytes_per_s, link.back_interval_bytes_per_s),
            )
            if own == rate and name in (link.a, link.b)
        ),
        None,
    )
    return Link(
        a=name, b=switch, bytes_per_s=rate, interval_bytes_per_s=interval, latency_ns=latency_ns
    )
