"""What a faster link makes faster: `all`, or the link between two machines, workers or switches.

With a cluster, a transfer gains what the slowest link on its way gains: of a message the route, of
a collective the ring over its group. Without one, only transfers whose workers all sit at the two
ends are known to use the link; for larger groups around it nothing tells what holds them up.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paceline.model import Cluster, Edit, InputError, Link
from paceline.rewrite.key import listed
from paceline.rewrite.routes import Routes, Step
from paceline.rewrite.select import names_nothing
from paceline.rewrite.state import State

UNTOLD = 0.0  # the gain of a transfer that uses a link, when nothing tells what holds it up


@dataclass(frozen=True, slots=True)
class Faster:
    """Some links `factor` times as fast; None for `links` means all, `ends` are sets of ranks."""

    factor: float
    machine: dict[int, str]
    links: frozenset[int] | None
    ends: tuple[frozenset[int], frozenset[int]] | None
    before: Routes | None
    after: Routes | None

    @property
    def cluster(self) -> Cluster | None:
        """The cluster with the links faster."""
        return None if self.after is None else self.after.cluster

    def message(self, sender: int, receiver: int) -> float | None:
        """By what the rate of a message grows; UNTOLD, or None if it does not use the links."""
        if self.ends is None:
            return self.factor
        if self.before is not None:
            return self._gained(self._paths([sender, receiver], ring=False))
        a, b = self.ends
        meets = (sender in a and receiver in b) or (sender in b and receiver in a)
        return self.factor if meets else None

    def collective(self, members: Sequence[int]) -> float | None:
        """By what the rate of a collective grows; UNTOLD, or None if it does not use the links."""
        if self.ends is None:
            return self.factor
        if self.before is not None:
            return self._gained(self._paths(members, ring=True))
        a, b = self.ends
        if not a.intersection(members) or not b.intersection(members):
            return None
        return self.factor if a.union(b).issuperset(members) else UNTOLD

    def _paths(self, ranks: Sequence[int], *, ring: bool) -> Iterable[Sequence[Step]]:
        if self.before is None or any(rank not in self.machine for rank in ranks):
            return ()
        places = [self.machine[rank] for rank in ranks]
        if ring:
            return self.before.ring(places) or ()
        path = self.before.path(*places)
        return () if path is None else (path,)

    def _gained(self, paths: Iterable[Sequence[Step]]) -> float | None:
        taken = [path for path in paths if path]
        steps = {at for path in taken for at, _ in path}
        links = self.links or frozenset()
        if self.before is None or self.after is None or not steps & links:
            return None
        was, becomes = self.before.slowest(taken), self.after.slowest(taken)
        if was is None or becomes is None:
            return self.factor if steps <= links else UNTOLD
        return becomes / was


def faster(state: State, edit: Edit, name: str, factor: float) -> Faster:
    """The links that the edit names, made faster."""
    cluster = state.cluster
    before = None if cluster is None else Routes(cluster)
    machine = state.machines
    if name == "all":
        links, ends = None, None
    else:
        words = _two_ends(edit, name, _known_ends(state))
        ends = (_ranks(state, words[0]), _ranks(state, words[1]))
        links = None if before is None else _between(state, edit, before, words)
    after = None if cluster is None else Routes(_with_rates(cluster, links, factor, edit))
    return Faster(factor, machine, links, ends, before, after)


def _known_ends(state: State) -> list[str]:
    names = dict.fromkeys(state.machines.values())
    names |= dict.fromkeys(str(rank) for rank in state.graph.workers)
    if state.cluster is not None:
        names |= dict.fromkeys(end for link in state.cluster.links for end in (link.a, link.b))
    return list(names)


def _two_ends(edit: Edit, name: str, known: list[str]) -> tuple[str, str]:
    parts = name.split("-")
    halves = [("-".join(parts[:at]), "-".join(parts[at:])) for at in range(1, len(parts))]
    fine = [(a, b) for a, b in halves if a in known and b in known and a != b]
    if len(fine) == 1:
        return fine[0]
    if fine:
        raise InputError(
            f"the link {name!r} can be read in {len(fine)} ways.",
            where=edit,
            cure="Name its ends by the ranks of two workers.",
        )
    raise names_nothing(
        edit,
        f"there is no link {name!r}",
        f"A link is all, or two of these with a hyphen between: {listed(known)}.",
    )


def _ranks(state: State, end: str) -> frozenset[int]:
    """The workers at an end: those of a machine, or one; none at a switch."""
    here = {rank for rank, machine in state.machines.items() if machine == end}
    if not here and end.isdecimal() and int(end) in state.graph.workers:
        here = {int(end)}
    return frozenset(here)


def _between(state: State, edit: Edit, routes: Routes, words: tuple[str, str]) -> frozenset[int]:
    """The links of the cluster between two ends: the direct one, else all on the route."""
    machine = state.machines
    known = {end for link in routes.cluster.links for end in (link.a, link.b)}
    ends = [
        word if word in known or not word.isdecimal() else machine.get(int(word), word)
        for word in words
    ]
    path = routes.path(*ends)
    if not path:
        where = f"{ends[0]} and {ends[1]}"
        raise names_nothing(
            edit, f"no link of the cluster lies between {where}",
            f"Its links join {listed(sorted(known))}.",
        )  # fmt: skip
    return frozenset(at for at, _ in path)


def _with_rates(
    cluster: Cluster, links: frozenset[int] | None, factor: float, edit: Edit
) -> Cluster:
    def times(rate: float | None) -> float | None:
        if rate is not None and not 0 < rate * factor < math.inf:
            raise InputError(
                "makes a link endlessly fast or slow.", where=edit, cure="Use a factor nearer to 1."
            )
        return None if rate is None else rate * factor

    def scaled(link: Link) -> Link:
        interval = link.interval_bytes_per_s
        return Link(
            a=link.a, b=link.b, latency_ns=link.latency_ns, loss=link.loss,
            bytes_per_s=times(link.bytes_per_s), back_bytes_per_s=times(link.back_bytes_per_s),
            interval_bytes_per_s=interval and (interval[0] * factor, interval[1] * factor),
        )  # fmt: skip

    return Cluster(
        kinds=cluster.kinds,
        machines=cluster.machines,
        offers=cluster.offers,
        links=tuple(
            scaled(link) if links is None or at in links else link
            for at, link in enumerate(cluster.links)
        ),
    )
