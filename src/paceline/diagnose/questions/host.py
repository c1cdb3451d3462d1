"""Whether all devices wait for their hosts: kernels that are ready later than the device is.

Only for jobs with a device apart from the host. All host work, and all gaps between ops, are given
no time; what that regains the device spent idle because nothing had been launched yet. That is so
on all workers and in thousands of ops, so that even a single step tells much.
"""

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.model import Cause, Edit, Finding, Kind, show_ns

NAME = "host"
CODES = (
    Code(
        code="PL301",
        rule="launch-bound",
        title="Devices wait for their hosts",
        text="Kernels are shorter than what it takes to launch them, on all workers. Larger"
        " batches, fused or compiled ops, captured graphs and fewer synchronizations help.",
    ),
)
LEAST = 0.15
ALONE = 2  # times as much, where only one step was recorded


def ask(case: Case) -> list[Finding]:
    """One finding for the whole job, if launches hold the devices back."""
    host = case.graph.kind == Kind.HOST
    if not host.any():
        return []
    cost = case.regained_by_all(case.fair_duration * ~host, case.fair_lead * case.begins())
    if not cost.sure(1, LEAST * case.step_ns, alone=ALONE):
        return []
    return [
        Finding(
            code="PL301",
            rule="launch-bound",
            subject="the whole job",
            worker=None,
            cause=Cause.SLOW_HOST,
            cost_ns=cost.value,
            interval_ns=cost.interval,
            evidence=(f"without any host work the step is {show_ns(cost.value)} shorter",),
            advice="Use larger batches, compiled or fused ops, fewer synchronizations.",
            edit=Edit("speed", (("kind", "host"), ("factor", 100))),
        )
    ]
