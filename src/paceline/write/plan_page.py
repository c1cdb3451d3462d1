"""A plan as a view for programs and a page for people.

Comes in: a plan and the cluster it was made for. Goes out: workers by kind and zone, what a step
takes, how far from the optimum it can be, and beside it what simple rules reach.
"""

import msgspec

from paceline.model import Baseline, Certificate, Cluster, CurvePoint, Plan, Worker, show_ns
from paceline.write.page import Column, Page, Table, table
from paceline.write.report_page import ms


class StepParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a step takes, in ms; parts may overlap."""

    compute: float | None
    communication: float | None
    total: float | None


class PlanView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline plan`."""

    schema: int
    workers: tuple[Worker, ...]
    n: int
    law: str | None
    overlay: str | None
    edits: tuple[str, ...]
    step_ms: StepParts
    total_time_s: float | None
    certificate: Certificate | None
    baselines: tuple[Baseline, ...]
    curve: tuple[CurvePoint, ...]


def plan_view(plan: Plan) -> PlanView:
    """The view of a plan."""
    overlay = next((e.get("algorithm") for e in plan.edits if e.name == "collective"), None)
    own = plan.estimate
    return PlanView(
        schema=1,
        workers=plan.workers,
        n=len(plan.workers),
        law=plan.law,
        overlay=None if overlay is None else str(overlay),
        edits=tuple(map(str, plan.edits)),
        step_ms=StepParts(
            compute=own.compute_ms, communication=own.communication_ms, total=own.step_ms
        ),
        total_time_s=None if plan.certificate is None else plan.certificate.objective_s,
        certificate=plan.certificate,
        baselines=plan.baselines,
        curve=plan.curve,
    )


def plan_page(view: PlanView, cluster: Cluster, *, explain: bool) -> Page:
    """The page that shows the view; with `explain` the why and the curve."""
    facts = [
        ("workers", f"{view.n:,}, shares {_shares(view)}"),
        ("overlay", str(view.overlay)),
        ("step", _step(view)),
        ("total time", _time(view.total_time_s)),
        *_proof(view),
    ]
    if explain:
        facts += _why(view)
    tables = [_machines(view, cluster)]
    if view.baselines:
        tables.append(_beside(view))
    if explain and view.curve:
        tables.append(_curve(view))
    return Page(title="Plan", facts=tuple(facts), tables=tuple(tables), view=view)


def _shares(view: PlanView) -> str:
    return "by speed" if view.law == "speed" else "equal"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else show_ns(seconds * 1e9)


def _step(view: PlanView) -> str:
    own = view.step_ms
    parts = [
        f"{ms(value)} {what}"
        for what, value in (("compute", own.compute), ("communication", own.communication))
        if value is not None
    ]
    return f"{'-' if own.total is None else ms(own.total)} ({', '.join(parts)})"


def _proof(view: PlanView) -> list[tuple[str, str]]:
    made = view.certificate
    if made is None:
        return []
    gap = "proven optimal" if made.gap <= 1e-6 else f"at most {100 * made.gap:.2g} % from optimal"
    facts = [("certificate", f"{gap}: no plan takes less than {_time(made.lower_bound_s)}")]
    if made.binding is not None and made.relax_gain is not None:
        gain = f"relaxing it saves {100 * made.relax_gain:.1f} %"
        facts.append(("binding", f"{made.binding}; {gain}"))
    return facts


def _why(view: PlanView) -> list[tuple[str, str]]:
    """Sentences: why this number, why these machines, what the law counts."""
    found: list[tuple[str, str]] = []
    total = view.total_time_s or 0.0
    fewer = [point for point in view.curve if point.n < view.n]
    more = [point for point in view.curve if point.n > view.n]
    said = [
        f"{point.n:,} would take {100 * (point.total_time_s / total - 1):.1f} % longer"
        for point in (*fewer[-1:], *more[:1])
    ]
    if said and total:
        found.append(("why so many", "; ".join(said)))
    what = "the sum of speeds counts" if view.law == "speed" else "the slowest worker counts"
    found.append(("law", f"{what}; more workers need fewer steps, and talk longer"))
    return found


def _machines(view: PlanView, cluster: Cluster) -> Table:
    """Machines by kind and zone, in order of rank."""
    known = {machine.name: machine for machine in cluster.machines}
    groups: dict[tuple[str, str], list[Worker]] = {}
    for worker in view.workers:
        own = known.get(worker.machine)
        key = ("-", "-") if own is None else (own.kind or "-", own.zone or "-")
        groups.setdefault(key, []).append(worker)
    rows = [
        (kind, zone, f"{len(workers):,}", _ranks(workers), _named(workers))
        for (kind, zone), workers in groups.items()
    ]
    columns = (
        Column(title="kind"),
        Column(title="zone"),
        Column(title="workers", right=True),
        Column(title="ranks"),
        Column(title="machines", wraps=True),
    )
    return table("Where", columns, rows)


def _ranks(workers: list[Worker]) -> str:
    first, last = workers[0].rank, workers[-1].rank
    if len(workers) == 1:
        return str(first)
    return f"{first}-{last}" if last - first + 1 == len(workers) else f"{first} to {last}, some"


def _named(workers: list[Worker]) -> str:
    names = list(dict.fromkeys(worker.machine for worker in workers))
    return ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")


def _beside(view: PlanView) -> Table:
    columns = (
        Column(title="rule"),
        Column(title="workers", right=True),
        Column(title="total time", right=True),
        Column(title="takes longer by", right=True),
    )
    total = view.total_time_s or 0.0
    rows = [
        (
            one.name,
            f"{one.n:,}",
            _time(one.total_time_s),
            f"{100 * (one.total_time_s / total - 1):+.1f} %" if total else "-",
        )
        for one in view.baselines
    ]
    return table("Simple rules, each tuned", columns, rows)


def _curve(view: PlanView) -> Table:
    columns = (Column(title="workers", right=True), Column(title="total time", right=True))
    rows = [(f"{point.n:,}", _time(point.total_time_s)) for point in view.curve]
    return table("Total time over the number of workers", columns, rows)
