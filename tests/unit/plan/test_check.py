"""The checker of plans: it passes true plans, and no planted fault passes it."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from two_racks import a_job, two_racks, workers

from paceline import plan
from paceline.model import (
    Baseline,
    Certificate,
    CurvePoint,
    Edit,
    Goal,
    Link,
    Plan,
    Route,
    RunError,
    Worker,
)

CLUSTER, JOB = two_racks(), a_job()
N = 9
MADE = plan.best(JOB, CLUSTER, workers(N), law="speed", overlay="forest", compare=True)
RING = plan.best(JOB, CLUSTER, workers(N), law="equal", overlay="ring")
FREE = plan.best(JOB, CLUSTER, law="speed", overlay="forest")

replace = msgspec.structs.replace


def worker(at: int, **changes: Any) -> Callable[[Plan], Plan]:
    def change(made: Plan) -> Plan:
        own = list(made.workers)
        own[at] = replace(own[at], **changes)
        return replace(made, workers=tuple(own))

    return change


def certificate(**changes: Any) -> Callable[[Plan], Plan]:
    return lambda made: replace(made, certificate=replace(made.certificate, **changes))


def estimate(**changes: Any) -> Callable[[Plan], Plan]:
    return lambda made: replace(made, estimate=replace(made.estimate, **changes))


def plan_with(**changes: Any) -> Callable[[Plan], Plan]:
    return lambda made: replace(made, **changes)


def scaled(name: str, factor: float) -> Callable[[Plan], Plan]:
    def change(made: Plan) -> Plan:
        assert made.certificate is not None
        value = factor * getattr(made.certificate, name)
        own = replace(made.certificate, **{name: value})
        gap = 1 - own.lower_bound_s / own.objective_s
        return replace(made, certificate=replace(own, gap=gap))

    return change


def swapped(made: Plan) -> Plan:
    """A worker moved to a slower machine, everything else as it was."""
    taken = [one.machine for one in made.workers]
    slow = next(name for name in ("m02", "m12") if name not in taken)
    own = list(made.workers)
    own[0] = Worker(rank=0, machine=slow, share=own[0].share)
    return replace(made, workers=tuple(own))


def shares(values: list[float]) -> Callable[[Plan], Plan]:
    def change(made: Plan) -> Plan:
        pairs = zip(made.workers, values, strict=True)
        return replace(made, workers=tuple(replace(one, share=value) for one, value in pairs))

    return change


def edits(*texts: str) -> Callable[[Plan], Plan]:
    return plan_with(edits=tuple(map(Edit.parse, texts)))


COUNT, FOREST = f"workers{{count={N}}}", "collective{algorithm=forest}"
FAULTS: dict[str, Callable[[Plan], Plan]] = {
    "no workers": plan_with(workers=()),
    "a rank twice": worker(1, rank=0),
    "ranks out of order": lambda made: replace(made, workers=made.workers[::-1]),
    "a rank left out": worker(N - 1, rank=N),
    "unknown machine": worker(0, machine="m99"),
    "a switch as machine": worker(0, machine="core"),
    "a third worker on two slots": worker(2, machine=MADE.workers[0].machine),
    "a worker left out": lambda made: replace(made, workers=made.workers[:-1]),
    "a wrong share": worker(0, share=0.5),
    "shares that sum to less": shares([0.1] * N),
    "shares equal under law speed": shares([1 / N] * N),
    "a negative share": worker(0, share=-0.1),
    "a share that is no number": worker(0, share=float("nan")),
    "no law": plan_with(law=None),
    "another law": plan_with(law="equal"),
    "an unknown law": plan_with(law="fair"),
    "no edits": plan_with(edits=()),
    "a wrong count": edits("workers{count=8}", FOREST),
    "no overlay": edits(COUNT),
    "an unknown overlay": edits(COUNT, "collective{algorithm=star}"),
    "another overlay": edits(COUNT, "collective{algorithm=ring}"),
    "an edit more": edits(COUNT, FOREST, "typical{}"),
    "an edit twice": edits(COUNT, FOREST, FOREST),
    "a wrong step": estimate(step_ms=1.0),
    "no step": estimate(step_ms=None),
    "a wrong compute time": estimate(compute_ms=99.0),
    "a wrong communication time": estimate(communication_ms=1.0),
    "wrong hours": estimate(hours=1.0),
    "no certificate": plan_with(certificate=None),
    "an objective 1 % too low": scaled("objective_s", 0.99),
    "an objective 0.01 % too high": scaled("objective_s", 1.0001),
    "a bound above the objective": scaled("lower_bound_s", 1.01),
    "a bound of nothing": scaled("lower_bound_s", 0.0),
    "a wrong gap": certificate(gap=0.01),
    "a gap that is no number": certificate(gap=float("nan")),
    "a link that is not there binds": certificate(binding="link m00 - rack1", relax_gain=0.1),
    "a machine that is not there binds": certificate(binding="machine m77", relax_gain=0.1),
    "nothing known binds": certificate(binding="luck", relax_gain=0.1),
    "a gain without what binds": certificate(binding=None, relax_gain=0.1),
    "a gain of everything": certificate(relax_gain=1.0),
    "a negative gain": certificate(relax_gain=-0.1),
    "a curve below the bound": plan_with(curve=(CurvePoint(n=N, total_time_s=1.0),)),
    "a curve beyond the cluster": plan_with(curve=(CurvePoint(n=50, total_time_s=1e9),)),
    "a curve that turns back": plan_with(curve=(CurvePoint(n=3, total_time_s=1e9),) * 2),
    "a baseline below the bound": plan_with(
        baselines=(Baseline(name="random", n=N, total_time_s=1.0),)
    ),
    "a baseline beyond the cluster": plan_with(
        baselines=(Baseline(name="all machines", n=50, total_time_s=1e9),)
    ),
}


@pytest.mark.parametrize("made", [MADE, RING])
def test_true_plans_pass(made: Plan) -> None:
    plan.check(made, JOB, CLUSTER, workers(N), routes=plan.routes(made, CLUSTER))


@pytest.mark.parametrize("fault", FAULTS)
def test_no_planted_fault_passes(fault: str) -> None:
    with pytest.raises(RunError, match="not what it claims"):
        plan.check(FAULTS[fault](MADE), JOB, CLUSTER, workers(N))


def test_a_slower_machine_does_not_pass() -> None:
    made = plan.best(JOB, CLUSTER, workers(4), law="equal", overlay="forest")
    with pytest.raises(RunError, match="compute time"):
        plan.check(swapped(made), JOB, CLUSTER, workers(4))


def test_a_bound_that_other_workers_beat_does_not_pass() -> None:
    worse = plan.best(JOB, CLUSTER, workers(2), law="speed", overlay="forest")
    assert worse.certificate is not None
    total = worse.certificate.objective_s
    claimed = Certificate(objective_s=total, lower_bound_s=total, gap=0.0)
    with pytest.raises(RunError, match="can take less than its lower bound"):
        plan.check(replace(worse, certificate=claimed, curve=()), JOB, CLUSTER)


@pytest.mark.parametrize("overlay", ["ring", "forest"])
def test_a_bound_that_other_machines_beat_does_not_pass(overlay: str) -> None:
    """All equally slow: the planner was told to avoid the fast ones, the checker was not."""
    avoid = [m.name for m in CLUSTER.machines if m.kind == "fast"]
    made = plan.best(JOB, CLUSTER, law="equal", overlay=overlay, avoid=avoid, explain=False)
    plan.check(made, JOB, CLUSTER, avoid=avoid)
    with pytest.raises(RunError, match="can take less than its lower bound"):
        plan.check(made, JOB, CLUSTER)


def test_busy_and_avoided_machines_do_not_pass() -> None:
    machines = [replace(m, busy=m.slots) if m.name == "m00" else m for m in CLUSTER.machines]
    with pytest.raises(RunError, match="fewer free slots"):
        plan.check(FREE, JOB, two_racks(machines=tuple(machines)))
    with pytest.raises(RunError, match="was to be avoided"):
        plan.check(FREE, JOB, CLUSTER, avoid=["m00"])


def test_too_few_and_too_many_workers_do_not_pass() -> None:
    for goal in (Goal(max_workers=N - 1), Goal(min_workers=N + 1)):
        with pytest.raises(RunError, match="fewer or more"):
            plan.check(MADE, JOB, CLUSTER, goal)


def test_a_cluster_without_a_link_does_not_pass() -> None:
    links = tuple(link for link in CLUSTER.links if link.a != "rack1")
    with pytest.raises(RunError, match="no links join"):
        plan.check(RING, JOB, two_racks(links=links), workers(N))


def test_a_slower_link_does_not_pass() -> None:
    def slower(link: Link) -> Link:
        return replace(link, back_bytes_per_s=1e8) if link.a == "rack0" else link

    links = tuple(map(slower, CLUSTER.links))
    with pytest.raises(RunError, match="communication time"):
        plan.check(RING, JOB, two_racks(links=links), workers(N))


def rerouted(change: Callable[[Route], Route]) -> list[Route]:
    """The routes of the ring, the first that crosses a link changed."""
    found = list(plan.routes(RING, CLUSTER))
    at = next(spot for spot, route in enumerate(found) if route.links)
    return [*found[:at], change(found[at]), *found[at + 1 :]]


ROUTES: dict[str, tuple[Callable[[Route], Route], str]] = {
    "a missing link": (lambda r: replace(r, links=(("m00", "m12"),)), "does not exist"),
    "a link left out": (lambda r: replace(r, links=r.links[:-1]), "ends at"),
    "a swapped direction": (
        lambda r: replace(r, links=(tuple(reversed(r.links[0])), *r.links[1:])), "from"
    ),
    "the whole way swapped": (lambda r: replace(r, links=r.links[::-1]), "from"),
    "an unknown rank": (lambda r: replace(r, source="99"), "a route joins"),
    "another target": (lambda r: replace(r, target=r.source), "ends at"),
}  # fmt: skip


@pytest.mark.parametrize("fault", ROUTES)
def test_no_planted_fault_in_a_route_passes(fault: str) -> None:
    change, said = ROUTES[fault]
    with pytest.raises(RunError, match=said):
        plan.check(RING, JOB, CLUSTER, workers(N), routes=rerouted(change))


def test_a_route_left_out_does_not_pass() -> None:
    with pytest.raises(RunError, match="no route leads"):
        plan.check(RING, JOB, CLUSTER, workers(N), routes=rerouted(lambda r: r)[:2])
