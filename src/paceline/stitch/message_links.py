"""Links between machines from the messages that passed between their workers.

What a message got is what the link gave it while the job ran: of several at once, its part.
"""

import numpy as np

from paceline.model import I64, Link, Profile
from paceline.stitch.fit import messages
from paceline.stitch.link_law import Law, latency_ns, law
from paceline.stitch.meeting import packed, runs
from paceline.stitch.nest import Mask
from paceline.stitch.transfers import (
    Transfers,
    clock_errors_ns,
    machine_names,
    machines,
    under_way,
)


def between(profile: Profile) -> tuple[Link, ...]:
    """One link for each two machines whose workers sent each other messages.

    A rate that no message tells is None; if those of one way alone tell it, it counts for both.
    """
    receive, send = messages(profile.graph)
    machine = machines(profile)
    ends = np.sort(np.stack((machine[send], machine[receive])), axis=0)
    passing = np.flatnonzero(ends[0] != ends[1])
    if not len(passing):
        return ()
    bars = clock_errors_ns(profile)
    apart = np.hypot(bars[send], bars[receive])
    names = machine_names(profile)
    pairs = runs(packed(*ends[:, passing]))
    pair = np.full(len(send), -1, dtype=np.int64)
    pair[passing] = pairs.run
    ways = _Ways(under_way(profile), pair, machine[send] > machine[receive])
    links: list[Link] = []
    for number, head in enumerate(passing[pairs.heads].tolist()):
        clock_ns = float(apart[pair == number].max())
        laws = [ways.law(2 * number + back, clock_ns) for back in (0, 1)]
        links.append(_link([names[end] for end in ends[:, head]], laws, clock_ns))
    return tuple(links)


class _Ways:
    """The transfers by way: those from the earlier machine to the later one, those back, ..."""

    def __init__(self, found: Transfers, pair: I64, back: Mask) -> None:
        way = np.where(pair >= 0, 2 * pair + back, -1)[found.message]
        self.order = np.argsort(way, kind="stable")
        self.first = np.searchsorted(way[self.order], np.arange(2 * int(pair.max()) + 3))
        self.found = found

    def law(self, way: int, clock_ns: float) -> Law:
        """What the transfers of one way tell."""
        rows = self.order[self.first[way] : self.first[way + 1]]
        own = self.found
        return law(
            own.size_bytes[rows], own.time_ns[rows], own.step[rows], own.crossed[rows],
            clock_ns,
        )  # fmt: skip


def _link(names: list[str], laws: list[Law], clock_ns: float) -> Link:
    latency = latency_ns(laws, clock_ns)
    if (
        laws[0].bytes_per_s is None and laws[1].bytes_per_s is not None
    ):  # a link speaks of its way there first
        names, laws = names[::-1], laws[::-1]
    there, back = laws
    return Link(
        a=names[0],
        b=names[1],
        bytes_per_s=there.bytes_per_s,
        back_bytes_per_s=back.bytes_per_s,
        latency_ns=None if latency is None else latency[0],
        interval_bytes_per_s=there.interval_bytes_per_s,
        back_interval_bytes_per_s=back.interval_bytes_per_s,
        interval_latency_ns=None if latency is None else latency[1],
    )
