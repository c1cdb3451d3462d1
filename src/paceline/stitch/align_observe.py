"""Turns what ties clocks together into moments that coincide, for the robust fit.

Ends of a collective coincide as they are. Messages and pings only bound the difference of two
clocks, from below in one direction and from above in the other: per stretch of time the tightest
two give a middle with a half width, in the manner of NTP. Workers that nothing else ties are tied
by the ends of one-way messages, for want of better.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import F64, I64, chained
from paceline.stitch.align_solve import Observed
from paceline.stitch.align_ties import Meets, Orders
from paceline.stitch.align_units import Units
from paceline.stitch.meeting import Runs, packed, runs

_STRETCHES = 32
_EACH = 4  # messages a stretch should have in each direction
_FINEST_NS = 100.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Middle and length of what was observed on each unit's own clock."""

    middle: F64
    extent: F64

    def z(self, unit: I64, since: F64) -> F64:
        """Time since the unit's first event, scaled to -.5 to .5."""
        return (since - self.middle[unit]) / self.extent[unit]


@dataclass(frozen=True, slots=True)
class Corrections:
    """What is added to a unit's rough time: p + q * z."""

    scale: Scale
    p: F64
    q: F64

    def at(self, units: Units, trace: I64, raw_ns: I64) -> F64:
        """Raw times on the common clock as far as it is known."""
        unit = units.of_trace[trace]
        z = self.scale.z(unit, units.since(trace, raw_ns))
        return units.rough(trace, raw_ns) + self.p[unit] + self.q[unit] * z


def scale_of(units: Units, meets: Meets, orders: Orders) -> Scale:
    """Where in its own time each unit was observed."""
    trace = np.concatenate([meets.trace, orders.before, orders.after])
    raw = np.concatenate([meets.end_ns, orders.before_ns, orders.after_ns])
    unit, since = units.of_trace[trace], units.since(trace, raw)
    low, high = np.full(len(units), np.inf), np.full(len(units), -np.inf)
    np.minimum.at(low, unit, since)
    np.maximum.at(high, unit, since)
    seen = low <= high
    low, high = np.where(seen, low, 0.0), np.where(seen, high, 0.0)
    return Scale((low + high) / 2, np.maximum(high - low, 1.0))


def observed(units: Units, meets: Meets, orders: Orders, known: Corrections) -> Observed:
    """All moments that coincide, given how far the clocks are corrected already."""
    unit = units.of_trace[meets.trace]
    ends = Observed(
        meet=runs(meets.meet).run,
        unit=unit,
        at=units.rough(meets.trace, meets.end_ns),
        z=known.scale.z(unit, units.since(meets.trace, meets.end_ns)),
        family=meets.family,
        sigma=np.full(len(meets), np.nan),
    )
    both = _two_way(units, orders, known)
    return _joined(_joined(ends, both), _one_way(units, orders, known, _joined(ends, both)))


def _joined(one: Observed, two: Observed) -> Observed:
    meets, families = one.meet.max(initial=-1) + 1, one.family.max(initial=-1) + 1
    return Observed(
        meet=np.concatenate([one.meet, two.meet + meets]),
        unit=np.concatenate([one.unit, two.unit]),
        at=np.concatenate([one.at, two.at]),
        z=np.concatenate([one.z, two.z]),
        family=np.concatenate([one.family, two.family + families]),
        sigma=np.concatenate([one.sigma, two.sigma]),
    )


def _two_way(units: Units, orders: Orders, known: Corrections) -> Observed:
    """Two rows for each stretch of time in which two units have exchanged something."""
    before, after = units.of_trace[orders.before], units.of_trace[orders.after]
    kept = before != after
    rows = np.flatnonzero(kept)
    forth = (before[rows] < after[rows]).astype(np.int64)
    low, high = np.minimum(before, after)[rows], np.maximum(before, after)[rows]
    first = known.at(units, orders.before[rows], orders.before_ns[rows])
    last = known.at(units, orders.after[rows], orders.after_ns[rows])
    # how much the higher unit's clock must at least (forth) or may at most (back) be moved
    room = np.where(forth == 1, first - last, last - first)
    when = (first + last) / 2
    stretch = packed(low, high, _stretches(packed(low, high), when, forth))
    least, most = _tightest(stretch, forth, room)
    middle = (room[least] + room[most]) / 2
    at = (when[least] + when[most]) / 2
    unit = np.stack([low[least], high[least]], axis=1).ravel()
    moment = np.stack([at, at - middle], axis=1).ravel()
    base = units.start_ns + units.offset_ns - units.start_ns[0]
    z = known.scale.z(unit, moment - base[unit])
    pairs = runs(packed(low[least], high[least]))
    sigma = _uncertain(pairs, (room[most] - room[least]) / 2)
    return Observed(
        meet=np.repeat(np.arange(len(least)), 2),
        unit=unit,
        at=moment - known.p[unit] - known.q[unit] * z,
        z=z,
        family=np.repeat(pairs.run, 2),
        sigma=np.repeat(sigma, 2),
    )


def _uncertain(pairs: Runs, half: F64) -> F64:
    """The scatter of each end of a stretch: a stretch is no surer than others of its pair."""
    ordered = half[np.lexsort((half, pairs.run))]
    usual = ordered[(pairs.first[:-1] + pairs.first[1:]) // 2]
    return np.maximum(np.maximum(half, usual[pairs.run]) / np.sqrt(8), _FINEST_NS)


def _stretches(pair: I64, when: F64, forth: I64) -> I64:
    """Cuts the time of each pair so that a stretch has some messages in both directions."""
    pairs = runs(pair)
    ahead = np.bincount(pairs.run, forth, minlength=len(pairs.counts))
    fewer = np.minimum(ahead, pairs.counts - ahead)
    count = np.clip(fewer // _EACH, 1, _STRETCHES)
    low, high = np.full(len(count), np.inf), np.full(len(count), -np.inf)
    np.minimum.at(low, pairs.run, when)
    np.maximum.at(high, pairs.run, when)
    length = np.maximum(high - low, 1.0)
    part = (when - low[pairs.run]) / length[pairs.run] * count[pairs.run]
    return np.minimum(part, count[pairs.run] - 1).astype(np.int64)


def _tightest(stretch: I64, forth: I64, room: F64) -> tuple[I64, I64]:
    """The rows with the lower and the upper bound of each stretch with messages both ways.

    Where the tightest contradict each other, as when an event begins after its message had left,
    the next are taken, and so on; a stretch without any bounds that agree is left out.
    """
    own = runs(stretch)
    ahead = np.bincount(own.run, forth, minlength=len(own.counts)).astype(np.int64)
    order = np.lexsort((np.where(forth == 1, -room, room), 1 - forth, own.run))
    depth = np.minimum(ahead, own.counts - ahead)
    at = np.repeat(np.arange(len(depth)), depth)
    rank = np.arange(len(at)) - np.repeat(chained(depth)[:-1], depth)
    least = order[own.first[at] + rank]
    most = order[own.first[at] + ahead[at] + rank]
    agree = np.flatnonzero(room[most] >= room[least])
    tightest = agree[np.unique(at[agree], return_index=True)[1]]
    return least[tightest], most[tightest]


def _one_way(units: Units, orders: Orders, known: Corrections, others: Observed) -> Observed:
    """The two ends of each message between units that nothing else connects."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    near = np.flatnonzero(others.meet[1:] == others.meet[:-1])
    links = (others.unit[near], others.unit[near + 1])
    shape = (len(units), len(units))
    graph = csr_array((np.ones(len(near)), links), shape=shape)
    _, component = connected_components(graph, directed=False)
    before, after = units.of_trace[orders.before], units.of_trace[orders.after]
    rows = np.flatnonzero(component[before] != component[after])
    trace = np.stack([orders.before[rows], orders.after[rows]], axis=1).ravel()
    raw = np.stack([orders.sent_ns[rows], orders.after_ns[rows]], axis=1).ravel()
    unit = units.of_trace[trace]
    return Observed(
        meet=np.repeat(np.arange(len(rows)), 2),
        unit=unit,
        at=units.rough(trace, raw),
        z=known.scale.z(unit, units.since(trace, raw)),
        family=np.repeat(runs(packed(before[rows], after[rows])).run, 2),
        sigma=np.full(len(unit), np.nan),
    )
