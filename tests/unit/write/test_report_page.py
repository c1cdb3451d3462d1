"""What a page of a report says when much or little is known."""

import json

import pytest

from paceline.model import (
    Cause,
    Edit,
    Finding,
    MeasuredLink,
    PathPart,
    Report,
    Wait,
)
from paceline.write import report as page
from paceline.write.report_page import ALL_WORKERS, report_page
from paceline.write.report_view import report_view

MS = 1_000_000
STEP = (100.0 * MS, 90.0 * MS, 110.0 * MS)


def finding(worker: int | None = 3, cost_ms: float | None = 40.0) -> Finding:
    return Finding(
        code="PL101", rule="slow-worker", subject=f"worker {worker}", worker=worker,
        cause=Cause.SLOW_COMPUTE, cost_ns=None if cost_ms is None else cost_ms * MS,
        interval_ns=None if cost_ms is None else (38.0 * MS, 42.0 * MS),
        evidence=("it is slower", "by much"), advice="look at it",
        edit=Edit("typical", (("worker", worker or 0),)),
    )  # fmt: skip


def of(**rest: object) -> Report:
    given = {"findings": (), "checked": ("hang", "straggler"), "step_ns": STEP, "steps": 20,
             "workers": 4, "events": 1000} | rest  # fmt: skip
    return Report(**given)  # type: ignore[arg-type]


def waits(count: int) -> tuple[Wait, ...]:
    """All wait 50 ms but worker 700."""
    return tuple(
        Wait(worker=rank, busy_ns=30.0 * MS, wait_ns=(0.0 if rank == 700 else 50.0) * MS,
             arrives_last=4 * (rank == 700))
        for rank in range(count)
    )  # fmt: skip


@pytest.mark.parametrize("format", ["text", "md"])
@pytest.mark.parametrize("workers", [0, 1, 4, 64, 1024])
def test_any_number_of_workers_fits(format: str, workers: int) -> None:
    text = page(of(findings=(finding(),), workers=workers, waits=waits(workers)), format=format)
    assert len(text.splitlines()) < 60
    if format == "text":
        assert max(map(len, text.splitlines())) <= 100


def test_of_many_workers_the_telling_ones_are_listed() -> None:
    view = report_view(of(findings=(finding(worker=3),), workers=1024, waits=waits(1024)))
    (table,) = (part for part in report_page(view).tables if part.title.startswith("Workers"))
    names = [row[0] for row in table.rows]
    assert {"3", "700"} <= set(names)
    assert names[-1] == "median"
    assert len(names) - 1 + table.left_out == 1024
    assert names[:-1] == sorted(names[:-1], key=int)


def test_a_few_workers_are_all_listed() -> None:
    view = report_view(of(waits=waits(ALL_WORKERS)))
    (table,) = report_page(view).tables
    assert (len(table.rows), table.left_out) == (ALL_WORKERS, 0)


def test_nothing_found_is_a_result_that_says_what_was_checked() -> None:
    text = page(of())
    assert text.startswith("Nothing found that slows this job\n")
    assert "hang, straggler" in text
    assert "Findings" not in text


def test_a_run_that_hung_before_its_first_step_has_no_times() -> None:
    hung = of(findings=(finding(cost_ms=None),), steps=0, step_ns=(0.0, 0.0, 0.0))
    assert "not known: no step was recorded whole" in page(hung)
    assert "0 ns" not in page(hung)
    view = json.loads(page(hung, format="json"))
    assert view["step_ms"] == {"median": None, "p10": None, "p90": None}
    assert view["replay"] == {"step_ms": None, "error": None}
    assert view["findings"][0]["cost_ms"] is None


def test_one_step_is_said_to_be_one() -> None:
    assert "one step only, so nothing has an interval" in page(of(steps=1))


def test_missing_workers_are_ranges() -> None:
    text = page(of(missing_workers=tuple(range(4, 1024))))
    assert "missing: 4-1023" in text


@pytest.mark.parametrize(("error", "words"), [(0.0002, "less than 0.1 %"), (0.0312, "3.1 %")])
def test_fidelity_in_words(error: float, words: str) -> None:
    assert f"off by {words}" in page(of(simulated_step_ns=99.0 * MS, simulation_error=error))


def test_the_critical_path_is_summed_by_op_and_complete() -> None:
    parts = [PathPart(worker=1, kind="compute", name="gemm", ns=20.0 * MS, op=at) for at in (0, 1)]
    parts += [PathPart(worker=0, kind="lead", name=f"op {at}", ns=1.0 * MS) for at in range(9)]
    view = report_view(of(simulated_step_ns=100.0 * MS, critical_path=tuple(parts)))
    (table,) = report_page(view).tables
    assert table.rows[0] == ("1", "compute", "gemm", "2", "40 ms", "40.0 %")
    assert table.rows[-1][2:] == ("everything else", "", "53 ms", "53.0 %")


def test_links_begin_with_the_slowest() -> None:
    links = tuple(
        MeasuredLink(a="m0", b=f"m{at}", bytes_per_s=rate, latency_ns=None,
                     interval_bytes_per_s=(rate * 0.9, rate * 1.1) if at else None)
        for at, rate in enumerate((1.25e9, 1.25e8))
    )  # fmt: skip
    (table,) = report_page(report_view(of(links=links))).tables
    assert table.rows[0] == ("m0 - m1", "1 Gbit/s", "0.9 to 1.1 Gbit/s", "not known")
    assert table.rows[1][2] == "not known"
