"""Recomputes what a plan claims, straight from the definition, sharing no code with the planner.

Comes in: a plan and what it was made from. A RunError says what is wrong with the plan: workers,
shares, edits, times, certificate, binding link. The bound is proven anew on small trees: no number
of workers on any machines can beat it. Only `model` is imported.
"""

from collections.abc import Collection, Mapping, Sequence

from paceline.model import Cluster, Goal, Job, Plan, Route, Spread
from paceline.plan.check.bound import prove
from paceline.plan.check.claims import (
    check_edits,
    check_figures,
    check_rest,
    check_shares,
    check_workers,
)
from paceline.plan.check.facts import free, gathered
from paceline.plan.check.routes import check_routes
from paceline.plan.check.times import communication_s, compute_s

__all__ = ["check"]

PROVEN = 64  # free slots up to which the bound is proven anew


def check(
    plan: Plan,
    job: Job,
    cluster: Cluster,
    goal: Goal | None = None,
    *,
    spreads: Mapping[str, Spread] | None = None,
    avoid: Collection[str] = (),
    routes: Sequence[Route] | None = None,
) -> None:
    """Returns if all that the plan (and its routes) claims is true of this job and cluster."""
    facts = gathered(job, cluster, goal or Goal(), spreads or {})
    check_workers(plan, facts, set(avoid))
    check_shares(plan, facts)
    overlay = check_edits(plan)
    check_figures(plan, facts, compute_s(plan, facts), communication_s(plan, facts, overlay))
    check_rest(plan, facts, overlay)
    if routes is not None:
        check_routes(plan, routes, facts, overlay)
    if facts.is_tree and sum(free(machine) for machine in cluster.machines) <= PROVEN:
        prove(plan, facts, overlay, set(avoid))
