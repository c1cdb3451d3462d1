"""Whether the whole job waits for its input: loading that nothing hides, on all workers."""

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.model import Cause, Edit, Finding, Kind, show_ns

NAME = "input"
CODES = (
    Code(
        code="PL302",
        rule="input-bound",
        title="The job waits for its input",
        text="Steps begin with loading that nothing hides. Prefetch, use more loader processes,"
        " decode less at run time, or move the data nearer.",
    ),
)
LEAST = 0.10
ALONE = 2  # times as much, where only one step was recorded


def ask(case: Case) -> list[Finding]:
    """One finding for the whole job, if loading takes a tenth of the step or more."""
    load = case.graph.kind == Kind.LOAD
    if not load.any():
        return []
    cost = case.regained_by_all(case.fair_duration * ~load)
    if not cost.sure(1, LEAST * case.step_ns, alone=ALONE):
        return []
    return [
        Finding(
            code="PL302",
            rule="input-bound",
            subject="the whole job",
            worker=None,
            cause=Cause.INPUT,
            cost_ns=cost.value,
            interval_ns=cost.interval,
            evidence=(f"loading that nothing hides takes {show_ns(cost.value)} of each step",),
            advice="Prefetch, use more loader processes, or move the data nearer.",
            edit=Edit("speed", (("kind", "load"), ("factor", 100))),
        )
    ]
