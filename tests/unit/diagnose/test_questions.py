"""Each question finds its fault in a synthetic job, and only that."""

import pytest

from jobs import Fault, Shape, traces
from paceline import diagnose, stitch
from paceline.model import Cause, Finding, Report

SMALL = Shape(workers=4, steps=12, layers=6, buckets=2)
TALKING = Shape(workers=4, steps=12, layers=6, buckets=2, hops=True)


def report(shape: Shape, fault: Fault | None) -> Report:
    return diagnose.report(stitch.profile(traces(shape, fault, seed=3)))


def blamed(found: Report) -> list[Finding]:
    return [finding for finding in found.findings if finding.worker is not None]


@pytest.mark.parametrize("shape", [SMALL, TALKING])
def test_a_clean_job_blames_nobody(shape: Shape) -> None:
    found = report(shape, None)
    assert blamed(found) == []
    assert "straggler" in found.checked


@pytest.mark.parametrize(
    ("fault", "code", "cause"),
    [
        (Fault(cause="slow_compute", worker=2, ms=30), "PL101", Cause.SLOW_COMPUTE),
        (Fault(cause="slow_host", worker=2, ms=90), "PL102", Cause.SLOW_HOST),
        (Fault(cause="input", worker=2, ms=30), "PL103", Cause.INPUT),
        (Fault(cause="stall", worker=2, ms=90), "PL104", Cause.STALL),
        (Fault(cause="stall", worker=2, ms=120, rate=0.6), "PL105", Cause.STALL),
    ],
)
def test_a_slow_worker_is_the_first_finding(fault: Fault, code: str, cause: Cause) -> None:
    first = report(SMALL, fault).findings[0]
    assert (first.code, first.worker, first.cause) == (code, 2, cause)
    assert first.interval_ns is not None
    assert first.interval_ns[0] > 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault(cause="slow_link", worker=1, factor=4), "PL201"),
        (Fault(cause="delay", worker=1, ms=3), "PL202"),
    ],
)
def test_a_slow_link_is_named_by_its_ends(fault: Fault, code: str) -> None:
    first = report(TALKING, fault).findings[0]
    assert (first.code, first.worker, first.subject) == (code, 1, "link host1 - host2")


def test_the_cost_is_what_the_step_really_regains() -> None:
    fault = Fault(cause="input", worker=0, ms=40)
    first = report(SMALL, fault).findings[0]
    assert first.cost_ns == pytest.approx(40e6, rel=0.05)


def test_a_job_that_loads_too_long_is_input_bound_without_blame() -> None:
    found = report(Shape(workers=4, steps=12, layers=6, buckets=2, load_ms=40), None)
    assert [finding.code for finding in found.findings] == ["PL302"]


def test_exposed_transfer_is_said_of_the_job() -> None:
    slow = Shape(workers=4, steps=12, layers=6, buckets=2, bytes_per_s=5e8)
    found = report(slow, None)
    assert [finding.code for finding in found.findings] == ["PL203"]


def test_launch_bound_is_said_of_the_job() -> None:
    found = report(
        Shape(workers=4, steps=12, kernel_ms=0.05, launch_us=200, bucket_bytes=10_000), None
    )
    assert "PL301" in [finding.code for finding in found.findings]
    assert blamed(found) == []
