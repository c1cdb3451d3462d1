"""Whether the simulation reproduces the steps it was learnt from, so that costs can be believed."""

import numpy as np

from paceline.diagnose.case import Case
from paceline.diagnose.code import Code
from paceline.model import Finding

NAME = "fidelity"
CODES = (
    Code(
        code="PL901",
        rule="untrusted-simulation",
        title="The simulation does not reproduce the measured steps",
        text="Playing the recorded steps again gives lengths that differ from what was measured,"
        " so the costs of other findings are less sure. Usual reasons: parts of the job were not"
        " recorded, clocks jumped, or waits that the trace does not show.",
    ),
)
LEAST = 0.05


def error(case: Case) -> float | None:
    """The median relative error of simulated against measured steps; None without steps."""
    real = case.measured_ns > 0
    if not real.any():
        return None
    return float(np.median(np.abs(case.base_ns[real] / case.measured_ns[real] - 1)))


def ask(case: Case) -> list[Finding]:
    """One finding without a cost, if the error is 5 % or more."""
    wrong = error(case)
    if wrong is None or wrong < LEAST:
        return []
    return [
        Finding(
            code="PL901",
            rule="untrusted-simulation",
            subject="the simulation",
            worker=None,
            cause=None,
            cost_ns=None,
            interval_ns=None,
            evidence=(f"simulated steps are off by {100 * wrong:.1f} %",),
            advice="Record again with all workers and at least ten steps.",
        )
    ]
