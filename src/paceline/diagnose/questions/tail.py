"""Whether a few slow steps cost much, without one worker, link or op to blame.

A step counts as slow if it is far above the median of the steps; what they cost on average is what
the job would gain if they were like the others.
"""

import numpy as np

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.interval import mean
from paceline.model import Cause, Finding, show_ns

NAME = "tail"
CODES = (
    Code(
        code="PL403",
        rule="tail-steps",
        title="Some steps are far slower than the rest",
        text="A few steps take much longer than the median step. Look for what happens only then:"
        " checkpoints, evaluation, garbage collection, other jobs on the machines or the network.",
    ),
)
SLOW, LEAST = 1.25, 0.03  # times the median step; share of the mean step


def ask(case: Case) -> list[Finding]:
    """One finding for the whole job, if its slow steps cost 3 % of the time or more."""
    steps = case.fair_ns
    if len(steps) < 8:
        return []
    typical = float(np.median(steps))
    slow = steps > SLOW * typical
    cost = mean(np.where(slow, steps - typical, 0.0))
    if slow.sum() < 2 or not cost.sure(1, LEAST * typical):
        return []
    return [
        Finding(
            code="PL403",
            rule="tail-steps",
            subject="the whole job",
            worker=None,
            cause=Cause.STALL,
            cost_ns=cost.value,
            interval_ns=cost.interval,
            evidence=(
                f"{int(slow.sum())} of {len(steps)} steps take over {SLOW} times the median,",
                f"which is {show_ns(typical)}; the slowest {show_ns(steps.max())}",
            ),
            advice="Look for what happens only in these steps.",
        )
    ]
