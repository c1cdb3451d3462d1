import json
import subprocess
import sys
from pathlib import Path

import pytest

from paceline import model, stitch
from paceline.cli import main

Captured = pytest.CaptureFixture[str]


def test_text_names_the_worker_and_nothing_goes_to_stderr(runs: Path, capsys: Captured) -> None:
    assert main(["diagnose", str(runs / "slow.jsonl")]) == 0
    out, err = capsys.readouterr()
    assert "worker 1  slow compute" in out
    assert err == ""


def test_a_saved_profile_is_as_good_as_its_traces(runs: Path, capsys: Captured) -> None:
    main(["diagnose", str(runs / "slow.jsonl"), "--json"])
    whole = json.loads(capsys.readouterr().out)
    assert main(["diagnose", str(runs / "slow.profile"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == whole


def test_json_is_all_that_stdout_holds(runs: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["diagnose", str(runs / "slow.profile"), "--json", "--fail-if", "any>1ms",
                 "-o", str(tmp_path / "report.json")]) == 1  # fmt: skip
    out, err = capsys.readouterr()
    view = json.loads(out)
    assert view["schema"] == 1
    assert view["findings"][0]["worker"] == 1
    assert err == "failed: any>1ms\n"


@pytest.mark.parametrize(
    ("gates", "code"),
    [
        (["straggler>5%"], 1),
        (["straggler>90%"], 0),
        (["PL101>1ms"], 1),
        (["slow-worker>1ms"], 1),
        (["slow_compute>1ms"], 1),
        (["slow_host>0%"], 0),
        (["hang>0%"], 0),
        (["hang>0%", "any>1ms"], 1),
    ],
)
def test_gates(runs: Path, gates: list[str], code: int, capsys: Captured) -> None:
    flags = [word for gate in gates for word in ("--fail-if", gate)]
    assert main(["diagnose", str(runs / "slow.profile"), *flags]) == code
    out, err = capsys.readouterr()
    assert out.startswith("What slows this job")
    assert err == (f"failed: {gates[-1]}\n" if code else "")


@pytest.mark.parametrize(
    "gate",
    ["", "straggler", "straggler>", "stragler>5%", "any>5 parsecs", "any>5%x", "any>>5%",
     "any<5%", "any>-5%", "any>1.2.3%"],
)  # fmt: skip
def test_a_bad_gate_is_wrong_usage_before_anything_is_read(gate: str, capsys: Captured) -> None:
    assert main(["diagnose", "/nowhere", "--fail-if", gate]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "--fail-if" in err
    assert "nowhere" not in err


def test_the_report_is_saved_and_loads_again(runs: Path, tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "report.json"
    assert main(["diagnose", str(runs / "slow.profile"), "-o", str(target)]) == 0
    report = model.load(target, model.Report)
    model.save(report, tmp_path / "again.json")
    assert model.load(tmp_path / "again.json", model.Report) == report
    assert report.findings[0].worker == 1


def test_pages_are_written_beside(runs: Path, tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra html")
    page, steps = tmp_path / "report.html", tmp_path / "step.json"
    flags = ["--html", str(page), "--perfetto", str(steps), "--format", "md"]
    assert main(["diagnose", str(runs / "slow.profile"), *flags]) == 0
    assert capsys.readouterr().out.startswith("## What slows this job\n")
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(steps.read_text())["traceEvents"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "step.json"]


def test_links_are_those_of_the_run_or_of_a_cluster_file(
    runs: Path, tmp_path: Path, capsys: Captured
) -> None:
    main(["diagnose", str(runs / "slow.profile"), "--json"])
    measured = json.loads(capsys.readouterr().out)["links"]
    shown = stitch.cluster(model.load(runs / "slow.profile", model.Profile)).links
    assert len(measured) == sum(link.bytes_per_s is not None for link in shown)
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        "machines: [{name: host0}, {name: host1}, {name: host2}]\n"
        "links: [{a: host0, b: host1, rate: 8Gbit}]\n"
    )
    main(["diagnose", str(runs / "slow.profile"), "--json", "--cluster", str(cluster)])
    (link,) = json.loads(capsys.readouterr().out)["links"]
    assert (link["a"], link["b"], link["gbit_per_s"]) == ("host0", "host1", 8.0)


@pytest.mark.parametrize(
    "arguments",
    [["{gone}"], ["{gone}.profile"], ["{here}", "--cluster", "{gone}"],
     ["{here}", "-o", "{gone}/x"], ["{here}", "--html", "{gone}/x"],
     ["{here}", "--perfetto", "{gone}/x"], ["{here}", "--max-bytes", "much"], ["{broken}"]],
)  # fmt: skip
def test_what_cannot_be_read_or_written_is_named(
    runs: Path, tmp_path: Path, arguments: list[str], capsys: Captured
) -> None:
    broken = tmp_path / "broken.profile"
    broken.write_bytes((runs / "slow.profile").read_bytes()[:5000])
    places = {"gone": tmp_path / "gone", "here": runs / "fast.jsonl", "broken": broken}
    assert main(["diagnose", *(word.format(**places) for word in arguments)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err


def test_interrupted(runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stitch, "profile", interrupted)
    assert main(["diagnose", str(runs / "slow.jsonl")]) == 130
    assert capsys.readouterr().err.strip() == "error: interrupted."


def test_a_reader_that_hangs_up_does_not_hide_a_failed_gate(runs: Path) -> None:
    command = [sys.executable, "-m", "paceline", "diagnose", str(runs / "slow.profile")]
    with subprocess.Popen(
        [*command, "--fail-if", "any>1ms"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == 1
