"""What valid clusters, plans, reports, comparisons and bills are."""

from collections.abc import Iterable

from paceline.model.cluster import Cluster
from paceline.model.plan import Plan
from paceline.model.report import Bill, Comparison, Report
from paceline.model.rule import Rule, endless


def _twice(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]


def _unknown_kinds(cluster: Cluster) -> list[str]:
    kinds = {kind.name for kind in cluster.kinds}
    used = [(m.name, m.kind) for m in cluster.machines] + [(o.name, o.kind) for o in cluster.offers]
    return [f"{name} (kind {kind})" for name, kind in used if kind and kinds and kind not in kinds]


def _negative(cluster: Cluster) -> list[str]:
    figures = [(kind.name, kind.memory_bytes) for kind in cluster.kinds]
    figures += [(f"{link.a} - {link.b}", link.latency_ns) for link in cluster.links]
    figures += [(o.name, size) for o in cluster.offers for size in (o.limit, o.notice_ns)]
    return [name for name, figure in figures if figure is not None and figure < 0]


CLUSTER: tuple[Rule[Cluster], ...] = (
    Rule("machine names are unique", lambda c: _twice(m.name for m in c.machines)),
    Rule("kind names are unique", lambda c: _twice(k.name for k in c.kinds)),
    Rule("offer names are unique", lambda c: _twice(o.name for o in c.offers)),
    Rule("no two links join the same two ends",
         lambda c: _twice(" - ".join(sorted((x.a, x.b))) for x in c.links)),
    Rule("no link joins an end to itself", lambda c: [x.a for x in c.links if x.a == x.b]),
    Rule("machines and offers have a kind that is listed", _unknown_kinds),
    Rule("rates are positive",
         lambda c: [f"{x.a} - {x.b}" for x in c.links
                    if any(r is not None and not 0 < r < float("inf")
                           for r in (x.bytes_per_s, x.back_bytes_per_s))]),
    Rule("loss lies in [0, 1)",
          lambda c: [f"{x.a} - {x.b}" for x in c.links
                    if x.loss is not None and not 0 <= x.loss < 1]),
    Rule("no machine has fewer slots than are busy, or none",
         lambda c: [m.name for m in c.machines if not 0 <= m.busy <= m.slots or m.slots < 1]),
    Rule("machines have at least one core",
         lambda c: [m.name for m in c.machines if m.cores is not None and m.cores < 1]),
    Rule("speeds are positive",
         lambda c: [x.name for x in (*c.kinds, *c.machines)
                    if x.speed is not None and not 0 < x.speed < float("inf")]),
    Rule("prices are positive", lambda c: [o.name for o in c.offers if not o.usd_per_hour > 0]),
    Rule("sizes, times and limits are not negative", _negative),
    Rule("figures are finite", lambda c: endless(c, "cluster")),
)  # fmt: skip


def _ranks(plan: Plan) -> list[str]:
    ranks = sorted(worker.rank for worker in plan.workers)
    return [] if ranks == list(range(len(ranks))) else ["workers"]


def _shares(plan: Plan) -> list[str]:
    shares = [worker.share for worker in plan.workers]
    fine = not shares or (min(shares) >= 0 and abs(sum(shares) - 1) < 1e-6)
    return [] if fine else ["workers"]


PLAN: tuple[Rule[Plan], ...] = (
    Rule("ranks are 0 to n - 1, once each", _ranks),
    Rule("shares are not negative and sum to 1", _shares),
    Rule("figures are finite", lambda p: endless(p, "plan")),
)

REPORT: tuple[Rule[Report], ...] = (Rule("figures are finite", lambda r: endless(r, "report")),)

COMPARISON: tuple[Rule[Comparison], ...] = (
    Rule("figures are finite", lambda c: endless(c, "comparison")),
)

BILL: tuple[Rule[Bill], ...] = (Rule("figures are finite", lambda b: endless(b, "bill")),)
