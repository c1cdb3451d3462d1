"""Nouns to files that people and other tools read, and to pages for terminals and pull requests.

`traces` writes any traces in the native format, so that whatever paceline reads can be converted;
`inspection` shows what was found in traces, `report` what slows a job,
`comparison` what changed between two; `report_file` is a report as
a page of its own. `whatif` shows what edits would give, `plan` who works where, `fidelity` how
close a lab is to its cluster, `proof` what an edit promised and kept.
"""

from paceline.write.native import traces
from paceline.write.page import Look
from paceline.write.pages import (
    checks,
    comparison,
    fidelity,
    inspection,
    plan,
    proof,
    recording,
    report,
    whatif,
)
from paceline.write.perfetto import perfetto
from paceline.write.report_html import report_file

__all__ = [
    "Look",
    "checks",
    "comparison",
    "fidelity",
    "inspection",
    "perfetto",
    "plan",
    "proof",
    "recording",
    "report",
    "report_file",
    "traces",
    "whatif",
]
