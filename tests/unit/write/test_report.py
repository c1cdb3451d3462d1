"""A report as text, Markdown, JSON, a page and a Perfetto trace."""

import html
import json
import re
from pathlib import Path

import pytest

from jobs import Fault, Shape, traces
from paceline import diagnose, stitch, write
from paceline.model import Profile, Report


@pytest.fixture(scope="module")
def profile() -> Profile:
    fault = Fault(cause="slow_compute", worker=1, ms=40)
    return stitch.profile(traces(Shape(workers=3, steps=6, layers=4, buckets=2), fault))


@pytest.fixture(scope="module")
def report(profile: Profile) -> Report:
    return diagnose.report(profile)


def test_json_has_the_fields_that_scripts_rely_on(report: Report) -> None:
    view = json.loads(write.report(report, format="json"))
    assert view["workers"] == 3
    assert view["steps"] == 6
    assert set(view["step_ms"]) == {"median", "p10", "p90"}
    assert set(view["replay"]) == {"step_ms", "error"}
    assert [set(row) for row in view["alignment"]] == [{"worker", "offset_us", "drift_ppm"}] * 3
    assert view["collectives"]["count"] == 2
    first = view["findings"][0]
    assert (first["code"], first["worker"], first["cause"]) == ("PL101", 1, "slow_compute")
    assert first["interval_ms"][0] < first["cost_ms"] < first["interval_ms"][1]
    assert first["edit"] == "typical{worker=1}"


def test_text_fits_100_columns_and_names_the_worker(report: Report) -> None:
    text = write.report(report)
    assert max(map(len, text.splitlines())) <= 100
    assert "worker 1" in text


def test_waits_are_where_the_slow_worker_is_not(report: Report) -> None:
    waits = {row.worker: row.wait_ns for row in report.waits}
    assert waits[1] < 0.2 * min(waits[0], waits[2])
    assert [row.arrives_last for row in report.waits][1] == 2


def test_the_page_allows_no_script_and_stands_alone(
    report: Report, profile: Profile, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra html")
    pytest.importorskip("jinja2", reason="needs the extra html")
    path = tmp_path / "report.html"
    write.report_file(report, profile, path)
    page = path.read_text()
    assert "default-src 'none'" in html.unescape(page)
    assert "<script" not in page
    assert page.count("<svg") == 3
    fetched = re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', page)
    assert fetched == []


def test_the_perfetto_file_holds_both_steps_and_arrows(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    write.perfetto(profile.graph, diagnose.median_step(profile), path)
    events = json.loads(path.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 2 * len(profile.graph)
    assert min(event["ts"] for event in spans) == 0
    starts = {event["id"] for event in events if event["ph"] == "s"}
    assert starts == {event["id"] for event in events if event["ph"] == "f"} != set()
    titles = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert titles == {f"{what}: worker {n}" for what in ("measured", "simulated") for n in range(3)}
