"""What the pictures of a report choose to show."""

import numpy as np
import pytest

from jobs import Fault, Shape, traces
from paceline import diagnose, stitch
from paceline.model import Profile, Report

pytest.importorskip("matplotlib", reason="needs the extra html")

from paceline.write.charts import costs, heatmap, rows, steps
from paceline.write.charts.drawn import label, unit_of


@pytest.fixture(scope="module")
def profile() -> Profile:
    fault = Fault(cause="slow_compute", worker=13, ms=40)
    return stitch.profile(traces(Shape(workers=20, steps=6, layers=4, buckets=2), fault))


@pytest.fixture(scope="module")
def report(profile: Profile) -> Report:
    return diagnose.report(profile)


def test_workers_of_findings_are_drawn_and_no_more_than_fit(
    report: Report, profile: Profile
) -> None:
    chosen = rows.chosen_workers(report, profile)
    assert 13 in chosen
    assert len(chosen) == rows.MOST_WORKERS
    assert chosen == sorted(set(chosen))


def test_lanes_of_one_kind_share_a_row(profile: Profile) -> None:
    line = steps.median_step(profile)
    found = rows.rows(profile.graph, line, [0, 13])
    assert [(row.worker, row.role) for row in found] == [
        (worker, role) for worker in (0, 13) for role in ("compute", "host", "network")
    ]


def test_own_work_shows_the_slow_worker_and_leaves_waiting_out(profile: Profile) -> None:
    ranks, table = heatmap.own_work(profile)
    extra = table - np.median(table, axis=0)
    assert ranks[int(np.argmax(extra.mean(axis=1)))] == 13
    assert extra[13].mean() / 1e6 == pytest.approx(40, rel=0.1)


def test_of_many_workers_the_slowest_stand_out_and_none_is_lost() -> None:
    extra = np.zeros((1024, 5))
    extra[700] = 9.0
    top, bands = heatmap.panels(list(range(1024)), extra)
    assert top.labels[0] == "worker 700"
    assert bands.extra_ms.shape == (heatmap.BANDS, 5)
    hot = int(np.argmax(bands.extra_ms[:, 0]))
    low, high = map(int, bands.labels[hot].split(" to "))
    assert low <= 700 <= high
    assert bands.labels[-1].endswith(" to 1023")


def test_many_steps_are_averaged_in_blocks() -> None:
    table = np.arange(3000.0)[None, :]
    found = heatmap.blocks(table)
    assert found.shape == (1, heatmap.COLUMNS)
    assert found.mean() == pytest.approx(table.mean())
    assert heatmap.blocks(table[:, :7]) is not table
    assert heatmap.blocks(table[:, :7]).shape == (1, 7)


def test_neighbors_that_no_eye_could_part_are_one_bar() -> None:
    start = np.array([0, 11, 5000])
    found = steps._bars(start, start + 10, 1_400_000)
    assert found.tolist() == [[0.0, 1000.0], [5000.0, 1000.0]]


def test_pictures_of_nothing_are_empty() -> None:
    nothing = Report(findings=(), checked=(), step_ns=(0.0, 0.0, 0.0))
    assert costs.costs(nothing) == ""


def test_ids_of_pictures_differ(report: Report, profile: Profile) -> None:
    import re

    found = [
        set(re.findall(r'\bid="([^"]+)"', picture))
        for picture in (
            costs.costs(report), heatmap.heatmap(profile), steps.step_chart(report, profile),
        )
    ]  # fmt: skip
    assert all(found)
    assert not found[0] & found[1] | found[1] & found[2] | found[0] & found[2]


def test_a_picture_is_drawn_the_same_twice(report: Report, profile: Profile) -> None:
    assert costs.costs(report) == costs.costs(report)
    assert heatmap.heatmap(profile) == heatmap.heatmap(profile)


@pytest.mark.parametrize(
    ("text", "seen"),
    [("a$b$^2", "a$b$^2"), ("層", "□"), ("\x1b[31m", "\\x1b[31m"), ("\ud800", "\\ud800"),
     ("x" * 50, "x" * 19 + "…")],
)  # fmt: skip
def test_labels_can_be_drawn(text: str, seen: str) -> None:
    assert label(text, 20) == seen


@pytest.mark.parametrize(("ns", "unit"), [(5e9, "s"), (1e9, "ms"), (3e5, "µs")])
def test_axes_have_a_unit_that_suits(ns: float, unit: str) -> None:
    assert unit_of(ns)[0] == unit
