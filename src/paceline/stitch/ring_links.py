"""Links of machines to one switch, from their all-reduces, where no messages tell of links.

In a ring of n workers each sends 2 (n - 1) / n of the bytes that are reduced, so that many left
each machine in the time of the transfer (what NCCL calls bus bandwidth). The link of the slowest
machine is as fast as that, the others are at least as fast.
"""

from collections.abc import Collection, Iterator
from itertools import chain, count

import numpy as np

from paceline.model import I32, I64, OPERATIONS, Graph, Kind, Link, Profile, Work, operation
from paceline.stitch.fit import Recorded
from paceline.stitch.link_law import Law, law
from paceline.stitch.transfers import clock_errors_ns, machine_names, machines, steps

_RINGS = (None, "ring")  # one that does not tell its algorithm is taken for a ring


def to_switch(profile: Profile) -> tuple[Link, ...]:
    """A link for each machine whose workers reduced with those of others; latencies are not known.

    Each has the best rate that any of its groups has shown.
    """
    best: dict[int, Law] = {}
    for reached, own in _laws(profile).items():
        for machine in reached:
            if (own.bytes_per_s or 0) >= (best.setdefault(machine, own).bytes_per_s or 0):
                best[machine] = own
    names = machine_names(profile)
    switch = free_name(names)
    return tuple(
        Link(
            a=names[machine],
            b=switch,
            bytes_per_s=best[machine].bytes_per_s,
            interval_bytes_per_s=best[machine].interval_bytes_per_s,
        )
        for machine in sorted(best)
    )


def free_name(taken: Collection[str]) -> str:
    """A name for a switch that no machine has."""
    return next(name for name in _names() if name not in taken)


def _names() -> Iterator[str]:
    return chain(["switch"], (f"switch-{number}" for number in count(2)))


def _laws(profile: Profile) -> dict[tuple[int, ...], Law]:
    """What the all-reduces over each set of machines tell."""
    graph, place, bars = profile.graph, machines(profile), clock_errors_ns(profile)
    sets: dict[tuple[int, ...], list[I32]] = {}
    rings = np.array([_is_ring(work) for work in graph.works], dtype=np.bool_)
    for members in graph.members():
        reached = tuple(np.unique(place[members]).tolist())
        if len(reached) > 1 and rings[graph.work[members]].all():
            sets.setdefault(reached, []).append(members)
    heads = np.array([int(own[0]) for each in sets.values() for own in each], dtype=np.int64)
    times = _transfers(profile, heads)
    laws: dict[tuple[int, ...], Law] = {}
    first = 0
    for reached, own in sets.items():
        time = times[first : first + len(own)]
        first += len(own)
        match, step = np.nonzero(time > 0)
        moved = np.array([_moved(graph, members) for members in own])
        clock_ns = float(max(bars[members].max() for members in own))
        laws[reached] = law(moved[match], time[match, step], step, np.ones_like(match), clock_ns)
    return laws


def _is_ring(work: Work) -> bool:
    return (
        work.kind == Kind.COLLECTIVE
        and (work.size_bytes or 0) > 0
        and OPERATIONS[operation(work)] == "all_reduce"
        and work.algorithm in _RINGS
    )


def _moved(graph: Graph, members: I32) -> float:
    """Bytes that each member of a ring sends."""
    return float(graph.size_bytes[members[0]]) * 2 * (len(members) - 1) / len(members)


def _transfers(profile: Profile, heads: I64) -> I64:
    """The transfer of each collective, given by one op of it, in each of the steps; or -1."""
    recorded = Recorded(profile.graph)
    found = [recorded.times(*times).duration_ns[heads] for times in steps(profile, len(heads))]
    return np.stack(found, axis=1) if found else np.empty((len(heads), 0), dtype=np.int64)
