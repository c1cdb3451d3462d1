"""A schedule of faults: what goes wrong in a run of the lab, to whom, at which step.

    Faults().slow(worker=2, step=3, by_ms=200).lose(worker=1, step=5)
    Faults().phase("clean", 30).phase("slow 3", 30, Faults().slow(worker=3, by_ms=200))

Steps count from 0 over the whole run. Inside a phase they count from its begin, and what has no end
ends with it. Printed, a schedule is the YAML of a fault file, and read again it is equal.
"""

import msgspec

from paceline.model.cluster import Cluster
from paceline.model.errors import ModelError
from paceline.model.fault import (
    Cut,
    Fault,
    Freeze,
    Hang,
    Heal,
    How,
    Limit,
    Lose,
    Reached,
    Rejoin,
    Slow,
    Where,
)
from paceline.model.rules_faults import RULES, named_in


class FaultPhase(msgspec.Struct, frozen=True, kw_only=True):
    """The steps from `step` until before `until`, under one name."""

    name: str
    step: int
    until: int


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Faults in the order in which they were given, and the phases of the run, if it has some."""

    faults: tuple[Fault, ...] = ()
    phases: tuple[FaultPhase, ...] = ()

    def slow(
        self,
        *,
        worker: int | None = None,
        machine: str | None = None,
        step: int = 0,
        until: int | None = None,
        by_ms: float | None = None,
        factor: float | None = None,
        cpu: float | None = None,
        where: Where | None = None,
        how: How = "stall",
    ) -> "Faults":
        """These and a worker or machine that takes longer from `step` until before `until`."""
        by_ns = None if by_ms is None else round(by_ms * 1e6)
        return self.plus(
            Slow(
                worker=worker, machine=machine, step=step, until=until, by_ns=by_ns, factor=factor,
                cpu=cpu, where=where, how=how,
            )
        )  # fmt: skip

    def lose(
        self,
        *,
        step: int,
        worker: int | None = None,
        machine: str | None = None,
        where: Where | None = None,
    ) -> "Faults":
        """These and a worker or machine that is killed."""
        return self.plus(Lose(worker=worker, machine=machine, step=step, where=where))

    def rejoin(
        self, *, worker: int | None = None, machine: str | None = None, after_s: float = 0
    ) -> "Faults":
        """These and a lost machine (or that of a lost worker) that comes back after its loss."""
        after_ns = round(after_s * 1e9)
        return self.plus(Rejoin(worker=worker, machine=machine, after_ns=after_ns))

    def freeze(
        self,
        *,
        step: int,
        for_s: float,
        worker: int | None = None,
        machine: str | None = None,
        where: Where | None = None,
    ) -> "Faults":
        """These and a worker or machine that is stopped for a while."""
        for_ns = round(for_s * 1e9)
        made = Freeze(worker=worker, machine=machine, step=step, for_ns=for_ns, where=where)
        return self.plus(made)

    def hang(
        self, *, worker: int, step: int, where: Where | None = None, for_s: float | None = None
    ) -> "Faults":
        """These and a worker that does not go on, for a while or for good."""
        for_ns = None if for_s is None else round(for_s * 1e9)
        return self.plus(Hang(worker=worker, step=step, where=where, for_ns=for_ns))

    def cut(
        self, a: str, b: str, *, step: int, until: int | None = None, reached: Reached = "first"
    ) -> "Faults":
        """These and a link that nothing passes."""
        return self.plus(Cut(a=a, b=b, step=step, until=until, reached=reached))

    def heal(self, a: str, b: str, *, step: int, reached: Reached = "first") -> "Faults":
        """These and a link that is as the cluster says again."""
        return self.plus(Heal(a=a, b=b, step=step, reached=reached))

    def limit(
        self,
        a: str,
        b: str,
        *,
        step: int,
        until: int | None = None,
        bytes_per_s: int | None = None,
        latency_ms: float | None = None,
        loss: float | None = None,
        reached: Reached = "first",
    ) -> "Faults":
        """These and a link with another rate, latency or loss."""
        latency_ns = None if latency_ms is None else round(latency_ms * 1e6)
        return self.plus(
            Limit(
                a=a, b=b, step=step, until=until, bytes_per_s=bytes_per_s, latency_ns=latency_ns,
                loss=loss, reached=reached,
            )
        )  # fmt: skip

    def phase(self, name: str, steps: int, faults: "Faults | None" = None) -> "Faults":
        """These and a phase after the last one, with faults whose steps count from its begin.

        A phase starts clean: what slows, cuts or limits without an end ends with the phase.
        """
        begin = self.phases[-1].until if self.phases else 0
        made = FaultPhase(name=name, step=begin, until=begin + steps)
        found = () if faults is None else faults.faults
        moved = tuple(_moved(fault, made) for fault in found)
        return Faults(faults=self.faults + moved, phases=(*self.phases, made))

    def plus(self, fault: Fault) -> "Faults":
        """These and one more."""
        return msgspec.structs.replace(self, faults=(*self.faults, fault))

    def verify(self, cluster: Cluster | None = None, where: object = None) -> "Faults":
        """The schedule itself, if it can happen (in this cluster); otherwise ModelError."""
        names = [phase.name for phase in self.phases]
        if again := [name for name in names if names.count(name) > 1]:
            raise ModelError(
                f"two phases are called {again[0]!r}.", where=where, cure="Rename one of them."
            )
        if found := self.broken(cluster):
            at, why, rule = found
            raise ModelError(f"{self.faults[at]} {why}.", where=where, expected=rule)
        return self

    def broken(self, cluster: Cluster | None = None) -> tuple[int, str, str] | None:
        """The position of a fault that breaks a rule, how it does, and the rule."""
        for rule in RULES if cluster is None else (*RULES, named_in(cluster)):
            for fault, why in rule.broken(self.faults):
                at = next(at for at, other in enumerate(self.faults) if other is fault)
                return at, why, rule.says
        return None

    def __str__(self) -> str:
        rows = [f"- {fault}" for fault in self.faults]
        lines = ["faults:", *rows] if rows else []
        if self.phases:
            lines.append("phases:")
        for phase in self.phases:
            name = msgspec.json.encode(phase.name).decode()
            lines.append(f"- {{name: {name}, steps: {phase.until - phase.step}}}")
        return "\n".join([*lines, ""])


def _moved(fault: Fault, phase: FaultPhase) -> Fault:
    """The fault with steps of the run in place of steps of the phase."""
    if isinstance(fault, Rejoin):
        return fault
    step = fault.step + phase.step
    until = getattr(fault, "until", step)
    until = phase.until if until is None else until + phase.step * (hasattr(fault, "until"))
    if not phase.step <= step < phase.until or until > phase.until:
        raise ModelError(
            f"{fault} lies outside of the phase {phase.name!r}.",
            expected=f"The phase has the steps 0 to {phase.until - phase.step - 1}.",
            cure="Steps in a phase count from its begin.",
        )
    if isinstance(fault, (Slow, Cut, Limit)):
        return msgspec.structs.replace(fault, step=step, until=until)
    return msgspec.structs.replace(fault, step=step)
