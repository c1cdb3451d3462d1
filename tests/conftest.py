"""Fixtures and rules shared by all tests.

With PACELINE_NO_SKIPS=1 (as in continuous integration) a skipped test fails, unless its reason is
on the list below: a test that silently never runs protects nothing.
"""

import os
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import hypothesis
import pytest

ROOT = Path(__file__).parent.parent

# Why a test may be skipped even in continuous integration; the reason must begin with one of these.
ALLOWED_SKIPS = (
    "needs torch",  # the extra is gigabytes where only a CUDA build is offered
    "needs namespaces",  # a container may forbid them; then the lab has only its loopback
    "no shared data",  # public measurements whose licences keep them out of this repository
)

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

STRICT = os.environ.get("PACELINE_NO_SKIPS") == "1"

# Compiled functions take seconds on their first call, so a deadline per example means nothing.
hypothesis.settings.register_profile("paceline", deadline=None, derandomize=STRICT)
hypothesis.settings.load_profile("paceline")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public measurements that are not part of the repository; tests that need them skip."""
    path = Path(os.environ.get("PACELINE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no shared data: set PACELINE_SHARED_DATA (looked in {path.name})")
    return path


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return without_skip(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    return without_skip(report)


def without_skip(report: Report) -> Report:
    """The report, made a failure if it is a skip that is not allowed here."""
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        where, line, reason = report.longrepr  # type: ignore[misc]
        reason = str(reason).removeprefix("Skipped: ")
        if not reason.startswith(ALLOWED_SKIPS):
            report.outcome = "failed"
            report.longrepr = f"{where}:{line}: skipped for a reason that is not allowed: {reason}"
    return report
