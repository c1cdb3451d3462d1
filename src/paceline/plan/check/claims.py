"""Workers, shares, edits and figures of a plan, each held against what it was made from."""

import itertools
import math
from typing import Any

from paceline.model import Plan, quoted
from paceline.plan.check.facts import Facts, counts_of, free, step_s, wrong

OVERLAYS = ("ring", "forest", "tree", "hierarchical", "ps")
CLOSE = 1e-6  # relative difference of figures that should be equal


def check_workers(plan: Plan, facts: Facts, avoid: set[str]) -> None:
    """Ranks, machines, free slots and the number of workers are as cluster and goal allow."""
    if not plan.workers:
        raise wrong("it has no workers")
    ranks = [worker.rank for worker in plan.workers]
    if ranks != list(range(len(ranks))):
        raise wrong("ranks are not 0 to n - 1, each once and in order")
    for name, count in counts_of(plan).items():
        if name not in facts.machines:
            raise wrong(f"machine {quoted(name)} is not in the cluster")
        if name in avoid:
            raise wrong(f"machine {quoted(name)} was to be avoided")
        if count > free(facts.machines[name]):
            raise wrong(f"machine {quoted(name)} has {count} workers and fewer free slots")
    n, goal = len(ranks), facts.goal
    if n < (goal.min_workers or 1) or n > (goal.max_workers or n):
        raise wrong(f"{n} workers are fewer or more than the goal allows")


def check_shares(plan: Plan, facts: Facts) -> None:
    """Shares sum to 1, each what the law gives it."""
    n = len(plan.workers)
    shares = [worker.share for worker in plan.workers]
    if plan.law not in {"equal", "speed"}:
        raise wrong("its law of shares is neither equal nor speed")
    if not abs(math.fsum(shares) - 1) <= CLOSE:
        raise wrong(f"shares sum to {math.fsum(shares):.9g} and not to 1")
    speeds = [1 / step_s(facts, w.machine) if plan.law == "speed" else 1.0 for w in plan.workers]
    total = math.fsum(speeds)
    for worker, speed in zip(plan.workers, speeds, strict=True):
        if not abs(worker.share - speed / total) <= CLOSE / n:
            raise wrong(f"the share of worker {worker.rank} is not what its law gives it")


def check_edits(plan: Plan) -> str:
    """The overlay, from edits that say what the workers say."""
    found = {edit.name: edit for edit in plan.edits}
    if len(found) != len(plan.edits) or set(found) != {"workers", "collective"}:
        raise wrong("its edits are not workers and collective, once each")
    if found["workers"].get("count") != len(plan.workers):
        raise wrong("the edit workers has another count than there are workers")
    overlay = found["collective"].get("algorithm")
    if overlay not in OVERLAYS:
        raise wrong(f"its overlay {quoted(overlay)} is not known")
    return str(overlay)


def steps(facts: Facts, n: int) -> float:
    """Steps to the target with n workers, from job and goal."""
    job, target = facts.job, facts.goal.target
    if target is not None and target.samples is not None:
        return target.samples / n / (job.local_batch or 1)
    large = job.steps_at_large_batch
    if target is not None and target.steps is not None:
        large = target.steps
    if large is None:
        raise wrong("nothing says how many steps the job needs")
    return large * (1 + (job.n_crit or 0.0) / n)


def step(facts: Facts, compute: float, communication: float) -> float:
    """A step, part of whose communication hides behind compute."""
    overlap = facts.job.overlap or 0.0
    return max(compute + communication * (1 - overlap), communication)


def _differs(claimed: float | None, true: float, close: float = CLOSE) -> bool:
    return claimed is None or not abs(claimed - true) <= close * abs(true) + 1e-12


def check_figures(plan: Plan, facts: Facts, compute: float, communication: float) -> None:
    """Estimate and certificate are what the definition gives."""
    own, made = plan.estimate, plan.certificate
    # two ways to integrate a tail, and to round flows
    close = CLOSE if facts.is_tree and not facts.spreads else 1e-4
    each = step(facts, compute, communication)
    total = steps(facts, len(plan.workers)) * each
    if made is None:
        raise wrong("it has no certificate")
    claims = {
        "the compute time of a step": (own.compute_ms, compute * 1e3),
        "the communication time of a step": (own.communication_ms, communication * 1e3),
        "the time of a step": (own.step_ms, each * 1e3),
        "the hours": (own.hours, total / 3600),
        "the objective": (made.objective_s, total),
    }
    for what, (claimed, true) in claims.items():
        if _differs(claimed, true, close):
            raise wrong(f"{what} is claimed to be {claimed} and is {true:.9g}")
    if not 0 < made.lower_bound_s <= made.objective_s * (1 + 1e-12):
        raise wrong("its lower bound is not positive, or above its objective")
    if _differs(made.gap + 1, 2 - made.lower_bound_s / made.objective_s):
        raise wrong("its gap is not 1 - bound / objective")


def check_rest(plan: Plan, facts: Facts, overlay: str) -> None:
    """Binding thing, curve and baselines do not contradict the certificate and the cluster."""
    made: Any = plan.certificate
    if (made.binding is None) != (made.relax_gain is None):
        raise wrong("what binds and what relaxing it gives are not both there")
    if made.relax_gain is not None and not 0 <= made.relax_gain < 1:
        raise wrong("what relaxing gives is no share of the total time")
    if made.binding is not None and not _exists(made.binding, facts):
        raise wrong(f"what binds, {quoted(made.binding)}, is not in the cluster")
    counts = [point.n for point in plan.curve]
    if any(b <= a for a, b in itertools.pairwise(counts)) or any(n < 1 for n in counts):
        raise wrong("its curve does not go up in n")
    most = sum(free(machine) for machine in facts.cluster.machines)
    if any(n > most for n in counts) or any(one.n > most for one in plan.baselines):
        raise wrong("its curve or a baseline has more workers than there are free slots")
    least = made.lower_bound_s * (1 - CLOSE)
    own = overlay in {"ring", "forest"}
    if own and any(point.total_time_s < least for point in plan.curve):
        raise wrong("its curve goes below the lower bound")
    if own and any(one.total_time_s < least for one in plan.baselines):
        raise wrong("a baseline is below the lower bound")
    if any(not math.isfinite(point.total_time_s) for point in plan.curve):
        raise wrong("its curve is not finite")


def _exists(binding: str, facts: Facts) -> bool:
    """True if the link or machine that is named exists; cuts name places."""
    what, _, rest = binding.partition(" ")
    for end in (
        " (at twice the rate)",
        " (as fast as the next faster ones)",
        " (at twice the speed)",
    ):
        rest = rest.removesuffix(end)
    if " and " in rest and rest.endswith(" like it"):
        rest = rest.rpartition(" and ")[0]
    if what == "machine":
        return rest in facts.machines
    if what == "link":
        return any(rest in {f"{x.a} - {x.b}", f"{x.b} - {x.a}"} for x in facts.cluster.links)
    return what == "links" and rest.startswith("around ")
