"""Profile and cluster to a report: what slows the job, what each cause costs, what would help.

Every question is a module with NAME, CODES and `ask(case)`; `report` asks them all and orders the
findings by cost.
`failed` holds a report against a gate, `explained` looks a code up; `compared` asks what
changed between two runs, `regressed` holds that against a gate; `whatif` prices edits.
"""

from paceline.diagnose.asked import CODES, QUESTIONS, explained, failed, report
from paceline.diagnose.code import Code
from paceline.diagnose.compare import compared
from paceline.diagnose.gate import regressed
from paceline.diagnose.typical import median_step
from paceline.diagnose.whatif import WhatIfs, whatif

__all__ = [
    "CODES",
    "QUESTIONS",
    "Code",
    "WhatIfs",
    "compared",
    "explained",
    "failed",
    "median_step",
    "regressed",
    "report",
    "whatif",
]
