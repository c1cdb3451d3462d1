"""What valid means, as rules: `verify` holds a noun against all of them.

Verbs take verified nouns and leave verified nouns. A broken rule is one ModelError that states the
rule and names up to three offenders.
"""

from typing import Any, TypeVar

from paceline.model.cluster import Cluster
from paceline.model.columns import Columns
from paceline.model.errors import ModelError
from paceline.model.graph import Graph
from paceline.model.plan import Plan
from paceline.model.profile import Profile, Spreads
from paceline.model.report import Bill, Comparison, Report
from paceline.model.rule import Rule
from paceline.model.rules_cluster import BILL, CLUSTER, COMPARISON, PLAN, REPORT
from paceline.model.rules_graph import GRAPH
from paceline.model.rules_profile import PROFILE, SPREADS, TIMELINE
from paceline.model.rules_trace import TRACE
from paceline.model.timeline import Timeline
from paceline.model.trace import Trace

RULES: dict[type, tuple[Rule[Any], ...]] = {
    Trace: TRACE, Graph: GRAPH, Timeline: TIMELINE, Spreads: SPREADS, Profile: PROFILE,
    Cluster: CLUSTER, Plan: PLAN, Report: REPORT, Comparison: COMPARISON,
    Bill: BILL,
}  # fmt: skip


Noun = TypeVar("Noun", bound=Columns | Profile | Cluster | Plan | Report | Comparison | Bill)


def verify(noun: Noun, where: object = None) -> Noun:
    """The noun itself, if it is valid; otherwise ModelError with the rule and the offenders."""
    if isinstance(noun, Profile):
        for part in (noun.graph, noun.durations, noun.leads, *noun.measured):
            verify(part, where)
    for rule in RULES[type(noun)]:
        offenders = list(rule.offenders(noun))
        if offenders:
            listed = ", ".join(offenders[:3]) + (", …" if len(offenders) > 3 else "")
            raise ModelError(
                f"{type(noun).__name__.lower()} breaks a rule at {listed}.",
                where=where,
                expected=f"The rule is: {rule.says}.",
            )
    return noun
