import json
from pathlib import Path

import pytest

from paceline import model
from paceline.cli import main

Captured = pytest.CaptureFixture[str]


def test_the_slower_run_is_found_and_fails_its_gate(runs: Path, capsys: Captured) -> None:
    words = ["compare", str(runs / "fast.jsonl"), str(runs / "slow.profile"), "--json"]
    assert main([*words, "--fail-if", "regression>3%"]) == 1
    out, err = capsys.readouterr()
    view = json.loads(out)
    assert view["certain"]
    assert view["step"]["after_ms"] > view["step"]["before_ms"]
    assert "worker 1: compute" in [row["what"] for row in view["parts"]]
    assert err == "failed: regression>3%\n"


@pytest.mark.parametrize("gate", ["regression>3%", "regression>2ms"])
def test_a_faster_run_and_an_equal_one_pass(runs: Path, gate: str, capsys: Captured) -> None:
    slow, fast = str(runs / "slow.jsonl"), str(runs / "fast.jsonl")
    assert main(["compare", slow, fast, "--fail-if", gate]) == 0
    assert capsys.readouterr().out.startswith("The step got faster")
    assert main(["compare", fast, fast, "--fail-if", gate]) == 0
    assert capsys.readouterr().out.startswith("No change beyond noise")


@pytest.mark.parametrize("gate", ["regression", "regression>", "slower>3%", "regression>3parsecs"])
def test_a_bad_gate_is_wrong_usage_before_anything_is_read(gate: str, capsys: Captured) -> None:
    assert main(["compare", "/nowhere", "/nowhere", "--fail-if", gate]) == 2
    assert "--fail-if" in capsys.readouterr().err


def test_different_jobs_are_refused(runs: Path, capsys: Captured) -> None:
    from paceline.loop import demo_run

    assert main(["compare", str(runs / "fast.jsonl"), str(demo_run())]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "Only runs of one job can be compared." in err


def test_the_comparison_is_saved_and_loads_again(
    runs: Path, tmp_path: Path, capsys: Captured
) -> None:
    target = tmp_path / "change.json"
    fast = str(runs / "fast.jsonl")
    assert main(["compare", fast, str(runs / "slow.jsonl"), "-o", str(target)]) == 0
    comparison = model.load(target, model.Comparison)
    model.save(comparison, tmp_path / "again.json")
    assert model.load(tmp_path / "again.json", model.Comparison) == comparison


def test_a_run_that_is_not_there(runs: Path, capsys: Captured) -> None:
    assert main(["compare", str(runs / "fast.jsonl"), str(runs / "gone")]) == 3
    assert "gone" in capsys.readouterr().err
    assert main(["compare", str(runs / "fast.jsonl")]) == 2
