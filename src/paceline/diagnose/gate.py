"""Gates for scripts: `straggler>5%` fails if such findings cost more than 5 % of the step.

A gate names a question, a rule, a code, a cause or `any`, then a limit in percent of the step or
as a time.
"""

import re

from paceline.diagnose.code import Code
from paceline.model import Cause, Comparison, InputError, Report, parse_duration_ns

_GATE = re.compile(r"\s*([A-Za-z0-9_-]+)\s*>\s*([0-9.]+)\s*(%|[a-zµ]+)\s*")


def failed(report: Report, gate: str, questions: dict[str, tuple[Code, ...]]) -> bool:
    """True if the costliest finding that the gate names is over its limit."""
    match = _GATE.fullmatch(gate)
    if match is None:
        raise _not_a_gate(gate)
    codes = _codes(match[1], gate, questions)
    limit = _limit(match, gate, report.step_ns[0])
    costs = [
        finding.cost_ns
        for finding in report.findings
        if finding.cost_ns is not None and (finding.code in codes or finding.cause == match[1])
    ]
    return max(costs, default=0.0) > limit


def regressed(comparison: Comparison, gate: str) -> bool:
    """True if the step got slower for certain, and by more than a gate like `regression>3%`."""
    match = _GATE.fullmatch(gate)
    if match is None or match[1] != "regression":
        raise InputError(
            f"{gate!r} is not a gate.",
            expected="A gate of a comparison reads regression>LIMIT, like regression>3%.",
        )
    slower = comparison.step.after_ns - comparison.step.before_ns
    return comparison.certain and slower > _limit(match, gate, comparison.step.before_ns)


def _codes(name: str, gate: str, questions: dict[str, tuple[Code, ...]]) -> set[str]:
    every = [code for codes in questions.values() for code in codes]
    if name == "any":
        return {code.code for code in every}
    if name in questions:
        return {code.code for code in questions[name]}
    named = {code.code for code in every if name in (code.code, code.rule)}
    if named or name in {cause.value for cause in Cause}:
        return named
    raise InputError(
        f"the gate {gate!r} names {name!r}, which is no finding.",
        expected=f"Names are: any, {', '.join(questions)}, a code, a rule or a cause.",
    )


def _limit(match: re.Match[str], gate: str, step_ns: float) -> float:
    try:
        if match[3] == "%":
            return float(match[2]) / 100 * step_ns
        return float(parse_duration_ns(match[2] + match[3]))
    except (ValueError, InputError) as error:
        raise _not_a_gate(gate) from error


def _not_a_gate(gate: str) -> InputError:
    return InputError(
        f"{gate!r} is not a gate.",
        expected="A gate reads NAME>LIMIT, like straggler>5% or any>20ms.",
    )
