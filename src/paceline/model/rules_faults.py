"""What a schedule of faults must be to happen: alone, and in a cluster.

A rule walks over all faults and says of those that break it why. In contradiction are faults of one
kind on one subject at one time, and whatever happens to someone who is lost.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paceline.model.cluster import Cluster
from paceline.model.fault import Cut, Fault, Freeze, Hang, Heal, Limit, Lose, Rejoin, Slow

Broken = Iterator[tuple[Fault, str]]
ENDLESS = 2**62  # the step before which what has no end ends


@dataclass(frozen=True, slots=True)
class FaultRule:
    """A sentence that is true of every schedule, and who breaks it, and how."""

    says: str
    broken: Callable[[tuple[Fault, ...]], Broken]


def end(fault: Fault) -> int:
    """The step before which a fault of a worker or link ends; what cannot end is endless."""
    if isinstance(fault, Slow):
        return fault.step + 1 if fault.until is None else fault.until
    if isinstance(fault, (Cut, Limit)):
        return ENDLESS if fault.until is None else fault.until
    return ENDLESS


def machine_of(worker: int, cluster: Cluster) -> str | None:
    """The machine on which a rank runs: machines are filled in their order; None if too few."""
    for machine in cluster.machines:
        if worker < machine.slots:
            return machine.name
        worker -= machine.slots
    return None


def _steps(faults: tuple[Fault, ...]) -> Broken:
    for fault in faults:
        if isinstance(fault, Rejoin):
            continue
        if not 0 <= fault.step < ENDLESS:
            yield fault, f"begins at step {fault.step}"
        if end(fault) <= fault.step:
            yield fault, f"ends before step {end(fault)}, where it has not begun"


def _figures(faults: tuple[Fault, ...]) -> Broken:
    for fault in faults:
        for name in ("by_ns", "after_ns", "latency_ns"):
            if (getattr(fault, name, None) or 0) < 0:
                yield fault, "has a time below 0"
        for name in ("for_ns", "factor", "cpu", "bytes_per_s"):
            value = getattr(fault, name, None)
            if value is not None and not 0 < value < math.inf:
                yield fault, f"has {value} where more than 0 is needed"
        loss = getattr(fault, "loss", None)
        if loss is not None and not 0 <= loss < 1:
            yield fault, f"loses a share of {loss}"


def _subjects(faults: tuple[Fault, ...]) -> Broken:
    for fault in faults:
        if not isinstance(fault, (Cut, Heal, Limit, Hang)):
            given = (fault.worker is not None) + (fault.machine is not None)
            if given != 1:
                yield fault, f"names {'both' if given else 'neither'}"


def _meant(faults: tuple[Fault, ...]) -> Broken:
    for fault in faults:
        if isinstance(fault, Slow):
            given = [fault.by_ns, fault.factor, fault.cpu]
            if sum(value is not None for value in given) != 1:
                yield fault, "does not say one of by, factor and cpu"
            elif fault.by_ns is None and fault.how != "stall":
                yield fault, "says how, which only `by` has"
            elif fault.cpu is not None and fault.where is not None:
                yield fault, "says where, but a quota of cores holds everywhere"
            elif fault.where == "load" and (fault.by_ns is None or fault.how != "stall"):
                yield fault, "computes while it loads; loading can only take longer `by` a time"
            elif fault.how == "host" and fault.where == "update":
                yield fault, "pauses between ops of the update, which is one op"
        elif isinstance(fault, Limit):
            if fault.bytes_per_s is None and fault.latency_ns is None and fault.loss is None:
                yield fault, "limits neither rate nor latency nor loss"
        elif isinstance(fault, (Lose, Freeze)) and fault.machine and fault.where:
            yield fault, "says where, but workers of a machine are in different phases"


def named_in(cluster: Cluster) -> FaultRule:
    """The rule that all of a schedule exists in the cluster."""
    return FaultRule(
        "Faults name workers, machines and links of the cluster.",
        lambda faults: _strangers(faults, cluster),
    )


def _strangers(faults: tuple[Fault, ...], cluster: Cluster) -> Broken:
    machines = {machine.name for machine in cluster.machines}
    workers = sum(machine.slots for machine in cluster.machines)
    links = {frozenset((link.a, link.b)) for link in cluster.links}
    for fault in faults:
        worker, machine = getattr(fault, "worker", None), getattr(fault, "machine", None)
        if worker is not None and not 0 <= worker < workers:
            yield fault, f"names worker {worker}, but workers are 0 to {workers - 1}"
        if machine is not None and machine not in machines:
            yield fault, f"names {machine!r}, but machines are {_listed(machines)}"
        if isinstance(fault, (Cut, Heal, Limit)) and frozenset((fault.a, fault.b)) not in links:
            known = {" - ".join(sorted(link)) for link in links}
            yield fault, f"names no link; links are {_listed(known)}"


def _listed(names: set[str]) -> str:
    some = sorted(names)
    return ", ".join(some[:6]) + (", …" if len(some) > 6 else "") if some else "none"


def _subject(fault: Fault) -> object:
    if isinstance(fault, (Cut, Heal, Limit)):
        return frozenset((fault.a, fault.b))
    return fault.worker if isinstance(fault, Hang) or fault.machine is None else fault.machine


def _same(fault: Fault) -> object:
    """Two faults of one subject that are the same in this cannot hold at one time."""
    if isinstance(fault, Slow):
        quantity = next(n for n in ("by_ns", "factor", "cpu") if getattr(fault, n) is not None)
        return (fault.kind, quantity, fault.where or (fault.by_ns and "backward"), fault.how)
    return "limit" if isinstance(fault, Limit) else "cut"


def _overlaps(faults: tuple[Fault, ...]) -> Broken:
    lasting = [f for f in faults if isinstance(f, (Slow, Cut, Limit))]
    held: dict[object, list[tuple[int, int, Fault]]] = {}
    for fault in sorted(lasting, key=lambda f: f.step):
        until = min([end(fault), *_heals(fault, faults)])
        around = held.setdefault((_subject(fault), _same(fault)), [])
        for _, other, earlier in around:
            if fault.step < other:
                yield fault, f"meets `{earlier}`, which has not ended"
        around.append((fault.step, until, fault))


def _heals(fault: Fault, faults: tuple[Fault, ...]) -> list[int]:
    if not isinstance(fault, (Cut, Limit)):
        return []
    return [
        other.step
        for other in faults
        if isinstance(other, Heal) and _subject(other) == _subject(fault)
        if other.step > fault.step
    ]


def _heal_something(faults: tuple[Fault, ...]) -> Broken:
    for fault in faults:
        if isinstance(fault, Heal):
            broken = [f for f in faults if isinstance(f, (Cut, Limit))]
            broken = [f for f in broken if _subject(f) == _subject(fault)]
            if not any(f.step < fault.step <= end(f) for f in broken):
                yield fault, "heals a link that is neither cut nor limited then"


def _lost(faults: tuple[Fault, ...]) -> Broken:
    """Follows each subject in the order given: losses and returns, and what happens between."""
    lost: dict[object, Lose] = {}
    for fault in faults:
        subject = _subject(fault)
        if isinstance(fault, Rejoin):
            if lost.pop(subject, None) is None:
                yield fault, "brings back what is not lost before"
        elif subject in lost and fault.step >= lost[subject].step:
            yield fault, f"happens to what `{lost[subject]}` has killed"
        elif isinstance(fault, Lose):
            lost[subject] = fault


RULES = (
    FaultRule("Steps are 0 or more, and a fault begins before it ends.", _steps),
    FaultRule("Times are 0 or more, a loss is less than 1, other figures more than 0.", _figures),
    FaultRule("A fault of a worker or machine names one of the two.", _subjects),
    FaultRule("A fault says one thing.", _meant),
    FaultRule("Two faults of one kind on one subject do not hold at one time.", _overlaps),
    FaultRule("A heal follows a cut or a limit of its link.", _heal_something),
    FaultRule("What is lost comes back by a rejoin, listed after the loss.", _lost),
)
