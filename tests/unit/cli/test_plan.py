"""`paceline plan` as a user types it."""

import json
from pathlib import Path

import pytest

from paceline import model
from paceline.cli import main
from paceline.loop import demo_run

CLUSTER = """
kinds: {fast: {speed: 2.0}, slow: {speed: 1.0}}
machines:
  - {name: a, kind: fast, zone: rack1, slots: 2}
  - {name: b, kind: fast, zone: rack1}
  - {name: c, kind: slow, zone: rack2}
links:
  - {a: a, b: leaf, rate: 10Gbit}
  - {a: b, b: leaf, rate: 10Gbit}
  - {a: c, b: leaf, rate: 1Gbit}
"""
JOB = """
gradient: 20MB
step_time: {fast: 100ms}
steps_at_large_batch: 1000
n_crit: 40
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def planned(*words: str) -> int:
    return main(["plan", "--job", "job.yaml", "--cluster", "cluster.yaml", *words])


@pytest.mark.usefixtures("files")
def test_json_has_what_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned("--json", "--compare") == 0
    view = json.loads(capsys.readouterr().out)
    assert set(view) == {
        "schema", "workers", "n", "law", "overlay", "edits", "step_ms", "total_time_s",
        "certificate", "baselines", "curve",
    }  # fmt: skip
    assert view["n"] == len(view["workers"]) == 3
    assert {worker["machine"] for worker in view["workers"]} == {"a", "b"}
    # 100 ms of compute; a's two workers sum up first, then each link carries S once each way:
    # no overlay can do with less, so the bound is reached although the overlay is a tree
    assert view["overlay"] == "tree"
    assert view["step_ms"]["compute"] == pytest.approx(100)
    assert view["step_ms"]["communication"] == pytest.approx(1e3 * 2e7 / 1.25e9)
    assert view["total_time_s"] == pytest.approx(
        1000 * (1 + 40 / 3) * view["step_ms"]["total"] / 1e3
    )
    assert set(view["certificate"]) == {
        "objective_s", "lower_bound_s", "gap", "binding", "relax_gain"
    }  # fmt: skip
    assert view["certificate"]["gap"] < 1e-6
    assert [one["name"] for one in view["baselines"]][-1] == "pack in the fastest class"


@pytest.mark.usefixtures("files")
def test_the_page_says_how_good_the_plan_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert planned("--explain", "--compare", "-o", "plan.json") == 0
    text = capsys.readouterr().out
    assert "proven optimal" in text
    assert "why so many" in text
    assert "Total time over the number of workers" in text
    assert "pack in the fastest class" in text
    made = model.load("plan.json", model.Plan)
    assert len(made.workers) == 3
    assert planned("--format", "md") == 0
    assert "**certificate**" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_flags_say_what_the_goal_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--min-workers", "2", "--max-workers", "2", "--avoid", "a", "--law", "speed"]
    assert planned("--json", *words, "--overlay", "ring", "--n-crit", "4", "--steps", "10") == 0
    view = json.loads(capsys.readouterr().out)
    assert [worker["machine"] for worker in view["workers"]] == ["b", "c"]
    assert (view["law"], view["overlay"]) == ("speed", "ring")
    assert view["total_time_s"] == pytest.approx(10 * 3 * view["step_ms"]["total"] / 1e3)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--deadline", "1s"], 4, "What limits it"),
        (["--min-workers", "9"], 4, "4 slots are free"),
        (["--avoid", "x"], 3, "is not in the cluster"),
        (["--deadline", "soon"], 2, "--deadline"),
        (["--time-limit", "soon"], 2, "--time-limit"),
        (["--overlay", "star"], 2, "--overlay"),
    ],
)
def test_what_is_wrong_is_said_once(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned(*words) == code
    shown = capsys.readouterr()
    assert said in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


def test_a_recording_is_planned_from(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--job", str(demo_run()), "--cluster", "cluster.yaml", "--json"]
    one = "kinds: {cpu: {speed: 1.0}}\nmachines: [{name: m, kind: cpu, slots: 8}]\n"
    (files / "one.yaml").write_text(one)
    words[4] = "one.yaml"
    assert main([*words, "--steps", "100", "--n-crit", "8"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert view["step_ms"]["communication"] == 0
    assert view["step_ms"]["compute"] > 30  # its own ops; the slowest of several, so more
