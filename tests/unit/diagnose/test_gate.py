"""Gates hold a report against a limit."""

import pytest

from paceline import diagnose
from paceline.model import Cause, Finding, InputError, Report

SLOW = Finding(
    code="PL101",
    rule="slow-worker",
    subject="worker 1",
    worker=1,
    cause=Cause.SLOW_COMPUTE,
    cost_ns=6e6,
    interval_ns=None,
    evidence=(),
    advice="",
)
REPORT = Report(findings=(SLOW,), checked=(), step_ns=(100e6, 90e6, 110e6))


@pytest.mark.parametrize(
    ("gate", "broken"),
    [
        ("straggler>5%", True),
        ("straggler > 7 %", False),
        ("any>5ms", True),
        ("PL101>5.9ms", True),
        ("slow-worker>1s", False),
        ("slow_compute>5%", True),
        ("link>0%", False),
    ],
)
def test_gates(gate: str, broken: bool) -> None:
    assert diagnose.failed(REPORT, gate) is broken


@pytest.mark.parametrize("gate", ["", "straggler", "straggler>5", "nobody>5%", "any>..%", "any<5%"])
def test_what_is_no_gate_says_how_one_looks(gate: str) -> None:
    with pytest.raises(InputError, match=r"reads NAME>LIMIT|Names are"):
        diagnose.failed(REPORT, gate)


def test_codes_are_unique_and_explained() -> None:
    codes = [code.code for code in diagnose.CODES]
    assert len(set(codes)) == len(codes)
    assert diagnose.explained("pl101") is diagnose.explained("slow-worker")
    with pytest.raises(InputError, match="no code"):
        diagnose.explained("PL999")
