"""Whether a few slow steps cost much, without one worker, link or op to blame.

A step counts as slow if it is far above the median of the steps; what they cost on average is what
the job would gain if they were like the others. Steps are looked at as they would be without the
workers and links that are slow, and without the pauses of workers that have more than their share.
"""

import numpy as np

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.diagnose.interval import mean
from paceline.diagnose.pauses import pauses
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
SEVERAL = 3  # rare and large, they tell by their number, not by the error of their mean
FEWEST = 8  # steps below which nothing is said


def ask(case: Case) -> list[Finding]:
    """One finding for the whole job, if its slow steps cost 3 % of the time or more."""
    if len(case.base_ns) < FEWEST:
        return []
    found = pauses(case)
    others = ~np.isin(case.graph.worker, found.blamed)
    steps = case.play(
        case.fair_duration + found.longer * others, case.fair_lead + found.later * others
    )
    typical = float(np.median(steps))
    slow = steps > SLOW * typical
    cost = mean(np.where(slow, steps - typical, 0.0))
    if slow.sum() < SEVERAL or cost.value < LEAST * max(typical, case.step_ns):
        return []
    told, worst = f"{slow.sum()} of {len(steps)} steps take over {SLOW} times", show_ns(steps.max())
    low, high = cost.interval or (0.0, cost.value)
    return [
        Finding(
            code="PL403",
            rule="tail-steps",
            subject="the whole job",
            worker=None,
            cause=Cause.STALL,
            cost_ns=cost.value,
            interval_ns=(max(low, 0.0), high),
            evidence=(f"{told} the median of {show_ns(typical)}; the slowest {worst}",),
            advice="Look for what happens only in these steps.",
        )
    ]
