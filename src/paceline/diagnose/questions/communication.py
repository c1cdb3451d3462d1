"""How much of the step is communication that nothing hides, transfers only and waiting left out.

Every message and collective is given no time while all meeting points stay, so that workers still
wait for the slowest. What is regained is exposed transfer; it says nothing against one worker.
"""

import numpy as np

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.model import TALKING, Cause, Edit, Finding, show_ns

NAME = "communication"
CODES = (
    Code(
        code="PL203",
        rule="exposed-communication",
        title="Communication that nothing hides takes much of the step",
        text="The transfers themselves, not the waiting for slow workers, lengthen the step. Send"
        " fewer bytes (lower precision), overlap more (smaller first buckets, accumulation), use"
        " faster links or another collective. `paceline whatif` prices each.",
    ),
)
LEAST = 0.30  # of a step: less is what a well built job pays


def ask(case: Case) -> list[Finding]:
    """One finding for the whole job, if exposed transfers take a fifth of the step or more."""
    talk = np.isin(case.graph.kind, TALKING)
    if not talk.any():
        return []
    cost = case.regained_by_all(case.fair_duration * ~talk)
    if not cost.sure(1, LEAST * case.step_ns):
        return []
    share = 100 * cost.value / case.step_ns
    return [
        Finding(
            code="PL203",
            rule="exposed-communication",
            subject="the whole job",
            worker=None,
            cause=Cause.VOLUME,
            cost_ns=cost.value,
            interval_ns=cost.interval,
            evidence=(
                f"{share:.0f} % of the step is transfer ({show_ns(cost.value)}), not hidden",
            ),
            advice="Send fewer bytes, overlap more, or use faster links.",
            edit=Edit("perfect-overlap"),
        )
    ]
