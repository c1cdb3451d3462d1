"""The cluster that a job ran on, as far as its Profile shows it: machines, and links with rates.

Machines are those that the workers name; a worker that names none counts as a machine of its own.
Links are measured where messages passed between two machines; where there were collectives only,
each machine has one link to a switch. Nothing is said of the inside of a machine.
"""

from collections import Counter

from paceline.model import Cluster, Link, Machine, MachineKind, Profile, verify
from paceline.stitch.message_links import between
from paceline.stitch.ports import ports
from paceline.stitch.ring_links import to_switch


def cluster(profile: Profile, *, as_ports: bool = False) -> Cluster:
    """Machines with one slot for each worker that ran there, and what is known of their links.

    With `as_ports`, links between machines are read as their ports at one switch if that explains
    them: so they speak of machines, too, that never talked.
    """
    slots = Counter(worker.machine for worker in profile.workers)
    kinds: dict[str, set[int]] = {}
    for worker in profile.workers:
        kinds.setdefault(worker.machine, set()).add(worker.kind)
    return verify(
        Cluster(
            kinds=tuple(MachineKind(name=kind) for kind in profile.kinds),
            machines=tuple(
                Machine(name=name, kind=_only(profile, kinds[name]), slots=count)
                for name, count in slots.items()
            ),
            links=_links(profile, as_ports=as_ports),
        )
    )


def _links(profile: Profile, *, as_ports: bool) -> tuple[Link, ...]:
    """From messages if any tells a rate, else from all-reduces."""
    told = between(profile)
    if any(link.bytes_per_s is not None for link in told):
        return (ports(told) if as_ports else None) or told
    return to_switch(profile) or told


def _only(profile: Profile, kinds: set[int]) -> str | None:
    """The kind of a machine, None if its workers name several."""
    return profile.kinds[min(kinds)] if len(kinds) == 1 else None
