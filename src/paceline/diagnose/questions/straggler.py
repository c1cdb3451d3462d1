"""Which worker is slower than its peers in every step, and why.

All-reduce equalizes the phases of all workers, so phases show nothing. What shows is a worker's
own work against the same work on its peers. A worker whose own work is longer by more than chance,
and whose step would be shorter without that, is a straggler; the cause is the part of its work
whose cure regains most.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.interval import Mean, mean
from paceline.diagnose.often import often_slow
from paceline.model import Cause, Edit, Finding, Kind, show_ns, shown

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NAME = "straggler"
CODES = (
    Code(
        code="PL101",
        rule="slow-worker",
        title="A worker computes more slowly than its peers",
        text="The same work takes longer on this worker in every step. Other workers wait for it"
        " inside collectives. Look at clocks and temperature of its device, at other jobs on the"
        " machine, or give it a smaller share of the samples.",
    ),
    Code(
        code="PL102",
        rule="slow-host",
        title="A worker's host is slower than its peers'",
        text="Python, launches and the gaps between ops take longer on this worker. Look at its"
        " processor: other processes, power settings, memory on the wrong socket, too few cores.",
    ),
    Code(
        code="PL103",
        rule="late-input",
        title="A worker waits longer for its input than its peers",
        text="Loading takes longer on this worker. Look at its disk, its data loader's worker"
        " processes, and at the size of its part of the data.",
    ),
    Code(
        code="PL104",
        rule="standstill",
        title="A worker stands still at one place in every step",
        text="Nothing runs on this worker for a while, always before the same op. Look for locks,"
        " synchronous logging or checkpointing, and calls that wait for something outside.",
    ),
    Code(
        code="PL402",
        rule="crowded-machine",
        title="All workers of one machine are slow",
        text="Every worker of this machine is slower than its peers elsewhere. They share cores,"
        " memory bandwidth or power: give the machine fewer workers or each of them less work.",
    ),
)

PLAIN = 3  # times its interval: what few steps show must be


class _Part(NamedTuple):
    cause: Cause
    code: str
    duration: Mask
    lead: Mask


def ask(case: Case) -> list[Finding]:
    """One finding for each worker that is systematically slow, the costliest first."""
    graph = case.graph
    if len(graph.workers) < 2:
        return []
    shift, gap = case.shifts()
    own = case.own()
    excess = {
        rank: mean((shift + gap)[:, own & (graph.worker == rank)].sum(axis=1))
        for rank in graph.workers
    }
    often = _often(case)
    slow = [
        rank
        for rank, much in sorted(excess.items(), key=lambda item: -item[1].value)
        if much.sure(len(excess), case.least_ns)
        and (often[rank] if often else much.value > PLAIN * much.half(len(excess)))
    ]
    found = [_found(case, rank, slow, shift, gap) for rank in slow]
    return _crowded(case, [finding for finding in found if finding is not None])


def _often(case: Case) -> dict[int, bool]:
    """Whether each worker is behind its peers in more steps than chance; {} if untellable."""
    graph, own = case.graph, case.own()
    late = case.duration - case.peers(0) + (case.lead - case.peers(1)) * ~case.begins()
    ranks = graph.workers
    found = often_slow(
        np.array([late[:, own & (graph.worker == rank)].sum(axis=1) for rank in ranks])
    )
    return {} if found is None else dict(zip(ranks, found.tolist(), strict=True))


def _found(case: Case, rank: int, slow: list[int], shift: F64, gap: F64) -> Finding | None:
    graph = case.graph
    mine = graph.worker == rank
    own = case.own() & mine
    alone = _cured(case, own, own, shift, gap)
    cost, together = alone, False
    if not alone.sure(len(slow), case.least_ns):  # out of all workers it was already chosen
        # two equally slow workers hide each other: what this one costs once the others are cured
        others = case.own() & np.isin(graph.worker, [other for other in slow if other != rank])
        rest = case.play(case.duration - shift * others, case.lead - gap * others)
        every = others | own
        cost = mean(rest - case.play(case.duration - shift * every, case.lead - gap * every))
        together = True
        if len(slow) < 2 or not cost.sure(len(slow), case.least_ns):
            return None
    parts = _parts(case, mine)
    worth = [_cured(case, part.duration, part.lead, shift, gap).value for part in parts]
    if together:
        worth = [_extra(part, shift, gap) for part in parts]
    part = _refined(case, parts[int(np.argmax(worth))], gap)
    return Finding(
        code=part.code,
        rule=next(code.rule for code in CODES if code.code == part.code),
        subject=f"worker {rank}",
        worker=rank,
        cause=part.cause,
        cost_ns=cost.value,
        interval_ns=cost.interval,
        evidence=_evidence(case, part, shift, gap)
        + (("counted once the other slow workers are cured",) if together else ()),
        advice=_ADVICE[part.cause],
        edit=Edit("typical", (("worker", rank),)),
    )


_ADVICE = {
    Cause.SLOW_COMPUTE: "Check this device (clocks, heat, other jobs), or give it a smaller share.",
    Cause.SLOW_HOST: "Check this worker's processor: other processes, power settings, cores.",
    Cause.INPUT: "Check this worker's storage and data loader.",
    Cause.STALL: "Find what this worker waits for at this place: locks, logging, checkpoints.",
}


def _parts(case: Case, mine: Mask) -> list[_Part]:
    """What a worker does by itself, by cause."""
    kind = case.graph.kind
    compute = mine & np.isin(kind, (Kind.COMPUTE, Kind.COPY))
    host, load = mine & (kind == Kind.HOST), mine & (kind == Kind.LOAD)
    none = np.zeros_like(mine)
    return [
        _Part(Cause.SLOW_COMPUTE, "PL101", compute, none),
        _Part(Cause.SLOW_HOST, "PL102", host, compute | host),
        _Part(Cause.INPUT, "PL103", load, load),
    ]


def _cured(case: Case, duration: Mask, lead: Mask, shift: F64, gap: F64) -> Mean:
    return case.regained(case.duration - shift * duration, case.lead - gap * lead)


def _extra(part: _Part, shift: F64, gap: F64) -> float:
    return float((shift * part.duration + gap * part.lead).sum(axis=1).mean())


def _refined(case: Case, part: _Part, gap: F64) -> _Part:
    """A host that is slow at one single place stands still there."""
    if part.cause is not Cause.SLOW_HOST:
        return part
    places = np.maximum(gap.mean(axis=0) * part.lead, 0)
    spread = np.maximum(case.halves[0][0].shift * part.duration, 0).sum()
    if places.max() > 0.6 * (places.sum() + spread):
        return _Part(Cause.STALL, "PL104", part.duration, part.lead)
    return part


def _evidence(case: Case, part: _Part, shift: F64, gap: F64) -> tuple[str, ...]:
    graph = case.graph
    longer = (shift * part.duration).mean(axis=0) + (gap * part.lead).mean(axis=0)
    usual = case.duration[:, part.duration].sum(axis=1).mean()
    usual += case.lead[:, part.lead].sum(axis=1).mean()
    total = longer.sum()
    rows = [f"{show_ns(total)} more than its peers in each step ({_share(total, usual - total)})"]
    worst = [int(op) for op in np.argsort(-longer)[:3] if longer[op] > 0.05 * total]
    names = [
        f"{shown(graph.works[int(graph.work[op])].name, 48)} (+{show_ns(longer[op])})"
        for op in worst
    ]
    return (*rows, "most of it in " + ", ".join(names)) if names else tuple(rows)


def _share(extra: float, usual: float) -> str:
    return f"+{100 * extra / usual:.0f} %" if usual > 0 else "where they take none"


def _crowded(case: Case, found: list[Finding]) -> list[Finding]:
    """Where all workers of a machine are slow, the machine is what they have in common."""
    machine = {worker.rank: worker.machine for worker in case.profile.workers}
    slow = {finding.worker for finding in found if finding.cause is Cause.SLOW_COMPUTE}
    out: list[Finding] = []
    for finding in found:
        name = machine.get(finding.worker if finding.worker is not None else -1)
        house = {rank for rank, where in machine.items() if where == name}
        if len(house) > 1 and house <= slow and house != set(machine):
            if finding.worker == min(house):
                out.append(_machine(case, str(name), house))
        else:
            out.append(finding)
    return out


def _machine(case: Case, name: str, house: set[int]) -> Finding:
    shift, gap = case.shifts()
    own = case.own() & np.isin(case.graph.worker, list(house))
    cost = _cured(case, own, own, shift, gap)
    return Finding(
        code="PL402",
        rule="crowded-machine",
        subject=f"machine {name}",
        worker=min(house),
        cause=Cause.CONTENTION,
        cost_ns=cost.value,
        interval_ns=cost.interval,
        evidence=(f"workers {', '.join(map(str, sorted(house)))} are all slower than the rest",),
        advice="Give this machine fewer workers, or its workers a smaller share.",
        edit=None,
    )
