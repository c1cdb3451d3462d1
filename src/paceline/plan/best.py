"""The door of the room: the fastest plan for a job on a cluster, with its certificate.

The number of workers, their machines and the overlay are chosen together: least total time, that is
steps(n) times the time of a step. A plan leaves this room only if `check` recomputes the same.
"""

import time
from collections.abc import Collection, Sequence

import numpy as np

from paceline.model import (
    Baseline,
    Certificate,
    Cluster,
    CurvePoint,
    Edit,
    Estimate,
    Goal,
    GoalError,
    Job,
    Plan,
    Profile,
    Source,
    Worker,
    show_ns,
)
from paceline.plan.baselines import baselines
from paceline.plan.case import Case, case
from paceline.plan.certificate import Binding, binding
from paceline.plan.check import check
from paceline.plan.facts import facts
from paceline.plan.graph_baselines import graph_baselines
from paceline.plan.graphs import binding_cut, solved_graph
from paceline.plan.overlays import SEARCHED, known_overlay
from paceline.plan.solve import Answer, curve, solved

TIME_LIMIT_S = 60.0


def best(
    job: Job | Profile,
    cluster: Cluster,
    goal: Goal | None = None,
    *,
    law: str | None = None,
    overlay: str = "any",
    avoid: Collection[str] = (),
    compare: bool = False,
    explain: bool = True,
    time_limit_s: float = TIME_LIMIT_S,
    seed: int = 0,
    made_from: Sequence[Source] = (),
) -> Plan:
    """The fastest plan found, how far from the optimum it can be at most, and what binds it.

    `law` is equal (every worker the same share of a step, the slowest counts) or speed (shares by
    speed, their sum counts); None: speed if the job's data may move, else equal. `compare` adds
    what simple rules reach, `explain` the curve over n and what relaxing the binding thing gives.
    Past `time_limit_s` the plan found so far is returned, with its true gap.
    """
    known_overlay(overlay)
    goal = Goal() if goal is None else goal
    deadline = time.monotonic() + time_limit_s
    known = facts(job)
    asked = case(
        known.job, cluster, goal, law=law, avoid=avoid, quantiles_s=known.quantiles_s()
    )  # fmt: skip
    answer, bound = _answered(asked, overlay, deadline, seed, explain=explain)
    made = _plan(asked, answer, bound, seed, made_from)
    if explain:
        made = _with(made, curve=_curve(asked, answer, deadline))
    if compare:
        made = _with(made, baselines=_rules(asked, overlay, answer.n, seed))
    check(made, known.job, cluster, goal, spreads=known.spreads, avoid=avoid)
    if goal.deadline_s is not None and answer.objective_s > goal.deadline_s:
        raise _too_late(goal.deadline_s, answer, bound)
    return made


def _answered(
    asked: Case, overlay: str, deadline: float, seed: int, *, explain: bool
) -> tuple[Answer, Binding | None]:
    """The workers, and what binds them."""
    tree = asked.tree
    if tree is None:
        answer = solved_graph(asked, overlay, deadline, seed)
        return answer, binding_cut(asked, answer, deadline, seed) if explain else None
    answer = solved(asked, tree, overlay, deadline)
    return answer, binding(asked, tree, answer, deadline) if explain else None


def _curve(asked: Case, answer: Answer, deadline: float) -> tuple[CurvePoint, ...]:
    """The total time over n, on trees."""
    if asked.tree is None:
        return ()
    name = answer.overlay if answer.overlay in SEARCHED else "forest"
    points = dict(curve(asked, asked.tree, name, deadline, answer.n))
    points[answer.n] = answer.objective_s
    return tuple(CurvePoint(n=n, total_time_s=points[n]) for n in sorted(points))


def _rules(asked: Case, overlay: str, n: int, seed: int) -> tuple[Baseline, ...]:
    if asked.tree is None:
        return graph_baselines(asked, n, seed)
    return baselines(asked, asked.tree, overlay, n, seed)


def _plan(
    asked: Case, answer: Answer, bound: Binding | None, seed: int, made_from: Sequence[Source]
) -> Plan:
    speed = 1 / asked.step_s[answer.machines]
    share = speed / speed.sum() if asked.law == "speed" else np.full(answer.n, 1 / answer.n)
    ranks: list[int] = answer.machines.tolist()
    names = [asked.cluster.machines[at].name for at in ranks]
    step = asked.step_s_of(answer.compute_s, answer.communication_s)
    return Plan(
        workers=tuple(
            Worker(rank=rank, machine=name, share=part)
            for rank, (name, part) in enumerate(zip(names, share.tolist(), strict=True))
        ),
        edits=(
            Edit("workers", (("count", answer.n),)),
            Edit("collective", (("algorithm", answer.overlay),)),
        ),
        estimate=Estimate(
            step_ms=step * 1e3,
            compute_ms=answer.compute_s * 1e3,
            communication_ms=answer.communication_s * 1e3,
            hours=answer.objective_s / 3600,
        ),
        certificate=Certificate(
            objective_s=answer.objective_s,
            lower_bound_s=answer.lower_bound_s,
            gap=max(0.0, 1 - answer.lower_bound_s / answer.objective_s),
            binding=None if bound is None else f"{bound.what} ({bound.relaxed})",
            relax_gain=None if bound is None else bound.gain,
        ),
        made_from=tuple(made_from),
        law=asked.law,
        seed=seed,
    )


def _with(plan: Plan, **changes: object) -> Plan:
    import msgspec

    return msgspec.structs.replace(plan, **changes)


def _too_late(deadline_s: float, answer: Answer, bound: Binding | None) -> GoalError:
    limited = "" if bound is None else f" What limits it: {bound.what}."
    return GoalError(
        f"no plan ends within {show_ns(deadline_s * 1e9)}: the fastest found takes"
        f" {show_ns(answer.objective_s * 1e9)} with {answer.n:,} workers, and none can take less"
        f" than {show_ns(answer.lower_bound_s * 1e9)}.{limited}",
        cure="Allow more time, or add faster machines or links.",
    )
