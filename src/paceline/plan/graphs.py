"""Plans on networks with cycles (regions, meshes): local search, and two bounds.

How long given workers communicate is exact: the slowest cut of the network without the machines
left out, once in each direction, twice the slower of both. Which workers is searched: grow from
several starts, then move, add and take away one while that helps. No set of n workers can beat the
rates of its machines alone, which bounds all; where sets are few, all are looked at.
"""

import dataclasses
import itertools
import math
import time

import numpy as np

from paceline.model import F64, I64, InputError, ModelError
from paceline.plan.case import Case
from paceline.plan.certificate import Binding
from paceline.plan.cuts import slowest_cut
from paceline.plan.search import rounds
from paceline.plan.solve import Answer
from paceline.plan.tails import expected_max

LARGEST = 128  # places
FEW = 4096  # sets that are all looked at


class Graph:
    """A case on a network with cycles; `total` of counts by machine is what it takes."""

    def __init__(self, case: Case) -> None:
        self.case = case
        net, size = case.net, len(case.net.names)
        if size > LARGEST:
            raise ModelError(
                f"the network has cycles ({len(net.tail):,} links between {size:,} places), and"
                f" those are planned up to {LARGEST} places.",
                expected="A larger network is a tree: one way only between any two places.",
                cure="Collapse parallel switches into one with the sum of their rates.",
            )
        self.machines = len(case.free)
        self.rate = np.zeros((size, size))
        np.add.at(self.rate, (net.tail, net.head), net.rate)
        np.add.at(self.rate, (net.head, net.tail), net.rate_back)
        self.distance = _distances(case, size)
        self.known: dict[bytes, float] = {}
        self.parts = (0.0, 0.0)

    def total(self, counts: I64, beat: float = math.inf) -> float:
        """The time to the target; some number above `beat` if it cannot be less than that."""
        key = counts.tobytes()
        if key in self.known:
            return self.known[key]
        n = int(counts.sum())
        steps = self.case.steps.at(n)
        compute = self._compute_s(counts)
        waits = float(rounds("forest", n)) * self._apart(counts)
        if n > 1:
            kept = np.concatenate([counts > 0, np.ones(len(self.rate) - self.machines, bool)])
            rate = np.ascontiguousarray(self.rate[np.ix_(kept, kept)])
            held = np.concatenate([counts, np.zeros(len(self.rate) - self.machines)])[kept]
            own = held > 0
            lone = np.minimum(rate.sum(axis=0), rate.sum(axis=1))[own]
            if (lone <= 0).any() and own.sum() > 1:
                return math.inf
            scale = 2 * self.case.gradient_bytes / n
            if own.sum() > 1:
                least = float((np.maximum(held[own], n - held[own]) / lone).max()) * scale
                if steps * self._step(compute, least + waits) >= beat:
                    return math.inf
                there, _ = slowest_cut(rate, held.astype(np.float64))
                back, _ = slowest_cut(np.ascontiguousarray(rate.T), held.astype(np.float64))
                waits += scale * float(max(there, back))
        self.known[key] = steps * self._step(compute, waits)
        self.parts = (compute, waits)
        return self.known[key]

    def _step(self, compute: float, communication: float) -> float:
        return self.case.step_s_of(compute, communication)

    def _compute_s(self, counts: I64) -> float:
        used, times = counts > 0, self.case.step_s
        if self.case.law == "speed":
            return float(counts.sum() / (counts[used] / times[used]).sum())
        if self.case.tails is None:
            return float(times[used].max())
        rows = np.bincount(
            self.case.row, counts.astype(np.float64), minlength=len(self.case.tails.quantiles_s)
        )
        return expected_max(self.case.tails.quantiles_s, rows.astype(np.int64))

    def _apart(self, counts: I64) -> float:
        used = np.flatnonzero(counts)
        return float(self.distance[np.ix_(used, used)].max())

    def lower_bound(self) -> float:
        """What no workers can beat: by number, the rates of machines alone and their speeds."""
        case, machines = self.case, self.machines
        free = case.free.astype(np.int64)
        best = math.inf
        switched = np.minimum(
            self.rate[:machines, machines:].sum(axis=1), self.rate[machines:, :machines].sum(axis=0)
        )
        out = np.sort(np.where(free > 0, self.rate[:machines, :machines], 0.0), axis=1)
        into = np.sort(np.where(free > 0, self.rate[:machines, :machines].T, 0.0), axis=1)
        both = np.minimum(out[:, ::-1].cumsum(axis=1), into[:, ::-1].cumsum(axis=1))
        order = np.argsort(case.step_s, kind="stable")
        for n in range(case.fewest, case.most + 1):
            steps = case.steps.at(n)
            near = min(n - 1, machines) - 1
            alone = switched + (both[:, near] if near >= 0 else 0.0)
            # a machine with k workers of n: 2 S max(k, n - k) / n over its own rate
            k = np.minimum(free, n)
            least = np.where(k >= n, 0.0, np.maximum(n - k, np.minimum(k, (n + 1) // 2)))
            with np.errstate(divide="ignore", invalid="ignore"):
                need = np.where(least > 0, 2 * case.gradient_bytes * least / n / alone, 0.0)
            for limit in np.unique(need[(free > 0) & np.isfinite(need)]):
                fits = order[(need[order] <= limit) & (free[order] > 0)]
                slots = np.repeat(case.step_s[fits], free[fits])[:n]
                if len(slots) < n:
                    continue
                compute = slots[-1] if case.law == "equal" else n / (1 / slots).sum()
                best = min(best, steps * self._step(float(compute), float(limit)))
        return best


def _distances(case: Case, size: int) -> F64:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    net = case.net
    # a latency of nothing would be no link in a sparse matrix
    weight = net.latency_s + 1e-15
    matrix = csr_array((weight, (net.tail, net.head)), shape=(size, size))
    found = shortest_path(matrix, directed=False)
    return np.where(found < 1e-12, 0.0, found)[: len(case.free), : len(case.free)]


def solved_graph(
    case: Case, overlay: str, deadline: float, seed: int = 0, *, enumerate_few: bool = True
) -> Answer:
    """The best workers found, and the bound."""
    if overlay not in {"forest", "any"}:
        raise InputError(
            f"the overlay {overlay} is planned on trees only, and this network has cycles.",
            cure="Choose --overlay forest or any.",
        )
    graph = Graph(case)
    best, counts = _searched(graph, deadline, seed)
    ways = math.prod(int(free) + 1 for free in case.free.tolist()) if len(case.free) < 64 else FEW
    whole = False
    if enumerate_few and ways <= FEW:
        best, counts, whole = _all(graph, best, counts, deadline)
    bound = best if whole else min(best, graph.lower_bound())
    graph.known.clear()
    graph.total(counts)
    return Answer(
        overlay="forest",
        machines=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        objective_s=best,
        lower_bound_s=bound,
        compute_s=graph.parts[0],
        communication_s=graph.parts[1],
    )


def _all(graph: Graph, best: float, counts: I64, deadline: float) -> tuple[float, I64, bool]:
    """The best of all sets, and whether there was time to look at all."""
    case = graph.case
    for one in itertools.product(*(range(int(free) + 1) for free in case.free.tolist())):
        n = sum(one)
        if not case.fewest <= n <= case.most:
            continue
        if time.monotonic() > deadline:
            return best, counts, False
        tried = np.array(one, dtype=np.int64)
        total = graph.total(tried, best)
        if total < best:
            best, counts = total, tried
    return best, counts, True


def _searched(graph: Graph, deadline: float, seed: int) -> tuple[float, I64]:
    """Local optima from several starts, the best of them."""
    case = graph.case
    draw = np.random.default_rng(seed)
    strength = graph.rate[: graph.machines].sum(axis=1)
    order = np.flatnonzero(case.free > 0)
    starts = sorted(order, key=lambda at: case.step_s[at] / (1e-9 + strength[at]))[:6]
    starts += sorted(order, key=lambda at: case.step_s[at])[:3]
    starts += draw.permutation(order)[:5].tolist()
    best, kept = math.inf, np.zeros(graph.machines, dtype=np.int64)
    for start in dict.fromkeys(int(at) for at in starts):
        counts = _grown(graph, start, deadline)
        total, counts = _moved(graph, counts, deadline)
        if total < best:
            best, kept = total, counts
        if time.monotonic() > deadline and math.isfinite(best):
            break
    if not math.isfinite(best):
        raise ModelError(
            "no set of free machines is joined by links without a machine in between.",
            cure="Add links or switches, or free the machines that join the others.",
        )
    return best, kept


def _grown(graph: Graph, start: int, deadline: float) -> I64:
    """Adds the best worker, one after another; the best number seen on the way."""
    case = graph.case
    counts = np.zeros(graph.machines, dtype=np.int64)
    counts[start] = 1
    best, kept = (graph.total(counts) if case.fewest <= 1 else math.inf), counts.copy()
    worse = 0
    while counts.sum() < case.most and worse < 4 and time.monotonic() < deadline:
        step, chosen = math.inf, -1
        for at in np.flatnonzero(counts < case.free).tolist():
            counts[at] += 1
            total = graph.total(counts, step)
            if total < step:
                step, chosen = total, at
            counts[at] -= 1
            if time.monotonic() > deadline and chosen >= 0:
                break
        if chosen < 0:
            break
        counts[chosen] += 1
        enough = counts.sum() >= case.fewest
        worse = 0 if not enough or step < best else worse + 1
        if enough and step < best:
            best, kept = step, counts.copy()
    return kept


def _moved(graph: Graph, counts: I64, deadline: float) -> tuple[float, I64]:
    """Moves, adds and takes away single workers while that helps."""
    case = graph.case
    fewest, most = case.fewest, case.most
    best = graph.total(counts) if fewest <= counts.sum() <= most else math.inf
    better = True
    while better and time.monotonic() < deadline:
        better = False
        for tried in _neighbors(case, counts):
            if not fewest <= tried.sum() <= most:
                continue
            if time.monotonic() > deadline:
                break
            total = graph.total(tried, best)
            if total < best * (1 - 1e-12):
                best, counts, better = total, tried, True
                break
    return best, counts


def _neighbors(case: Case, counts: I64) -> list[I64]:
    used = np.flatnonzero(counts).tolist()
    free = np.flatnonzero(counts < case.free).tolist()
    found: list[I64] = []
    for away in [-1, *used]:
        for to in [-1, *free]:
            if away == to:
                continue
            tried = counts.copy()
            if away >= 0:
                tried[away] -= 1
            if to >= 0:
                tried[to] += 1
            if tried.any():
                found.append(tried)
    return found


def binding_cut(case: Case, answer: Answer, deadline: float, seed: int) -> Binding | None:
    """The cut that takes longest, and what twice its rate would give."""
    graph = Graph(case)
    counts = np.bincount(answer.machines, minlength=graph.machines)
    kept = np.concatenate([counts > 0, np.ones(len(graph.rate) - graph.machines, bool)])
    if answer.n == 1 or (counts > 0).sum() == 1:
        return None
    place = np.flatnonzero(kept)
    rate = np.ascontiguousarray(graph.rate[np.ix_(kept, kept)])
    held = np.concatenate([counts, np.zeros(len(graph.rate) - graph.machines)])[kept]
    there, inside = slowest_cut(rate, held.astype(np.float64))
    back, other = slowest_cut(np.ascontiguousarray(rate.T), held.astype(np.float64))
    inside = inside if there >= back else other
    within = np.isin(np.arange(len(graph.rate)), place[inside == 1])
    net = case.net
    crosses = within[net.tail] != within[net.head]
    wider = dataclasses.replace(
        net,
        rate=np.where(crosses, 2 * net.rate, net.rate),
        rate_back=np.where(crosses, 2 * net.rate_back, net.rate_back),
    )
    better = solved_graph(dataclasses.replace(case, net=wider), "forest", deadline, seed)
    names = [net.names[at] for at in np.flatnonzero(within).tolist()]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    gain = max(0.0, 1 - better.objective_s / answer.objective_s)
    return Binding(f"links around {shown}", "at twice the rate", gain)
