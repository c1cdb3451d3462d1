"""What a plan was made from, gathered for the checker, and how the checker complains."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paceline.model import Cluster, Goal, Job, Link, Machine, Plan, RunError, Spread, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the plan was made from, and by place what lies around it."""

    job: Job
    cluster: Cluster
    goal: Goal
    spreads: Mapping[str, Spread]
    machines: dict[str, Machine]
    near: dict[str, dict[str, Link]]
    is_tree: bool
    seconds: dict[str, float] = field(default_factory=dict[str, float])


def gathered(job: Job, cluster: Cluster, goal: Goal, spreads: Mapping[str, Spread]) -> Facts:
    """The facts, with the links of each place."""
    near: dict[str, dict[str, Link]] = {machine.name: {} for machine in cluster.machines}
    for link in cluster.links:
        near.setdefault(link.a, {})[link.b] = link
        near.setdefault(link.b, {})[link.a] = link
    return Facts(
        job=job,
        cluster=cluster,
        goal=goal,
        spreads=spreads,
        machines={machine.name: machine for machine in cluster.machines},
        near=near,
        is_tree=len(cluster.links) == len(near) - 1,
    )


def wrong(what: str) -> RunError:
    """What is said of a plan that is not what it claims."""
    return RunError(
        f"a plan is not what it claims to be: {what}.",
        expected="Plans are recomputed from the definition before anybody sees them.",
        cure="Make the plan again from the same files; if that fails too, please report it.",
    )


def free(machine: Machine) -> int:
    """Slots that are not busy."""
    return machine.slots - machine.busy


def counts_of(plan: Plan) -> dict[str, int]:
    """Workers by machine."""
    counts: dict[str, int] = {}
    for worker in plan.workers:
        counts[worker.machine] = counts.get(worker.machine, 0) + 1
    return counts


def step_s(facts: Facts, name: str) -> float:
    """What one worker on a machine computes in a step."""
    if name not in facts.seconds:
        facts.seconds[name] = _step_ns(facts, facts.machines[name]) / 1e9
    return facts.seconds[name]


def _step_ns(facts: Facts, machine: Machine) -> float:
    times = facts.job.step_time_ns
    speeds = {kind.name: kind.speed for kind in facts.cluster.kinds}
    own = machine.speed or 1.0
    if machine.kind in times:
        return times[machine.kind] / own
    speed = speeds.get(machine.kind or "")
    for kind, ns in times.items():
        if speed and speeds.get(kind):
            return ns * (speeds[kind] or 1.0) / speed / own
    if len(times) == 1 and (machine.kind is None or speed):
        return next(iter(times.values())) / (speed or 1.0) / own
    raise wrong(f"nothing says how long a step takes on machine {quoted(machine.name)}")


def slow_s(link: Link) -> float:
    """Seconds a byte, by the slower direction."""
    rates = (link.bytes_per_s, link.back_bytes_per_s or link.bytes_per_s)
    return 1 / (min(rate or 0.0 for rate in rates) * (1 - (link.loss or 0.0)))


def outward(facts: Facts, root: str) -> list[tuple[str, str]]:
    """(place, place above it), from the root outward."""
    found, seen = [(root, "")], {root}
    for place, _ in found:
        for other in facts.near[place]:
            if other not in seen:
                seen.add(other)
                found.append((other, place))
    return found
