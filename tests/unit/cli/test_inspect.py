import json
from pathlib import Path

import pytest

from paceline import model, read
from paceline.cli import main
from paceline.loop import demo_run


def native(path: Path, worker: int, *, workers: int = 2, steps: int = 2, late_ns: int = 0) -> Path:
    """A worker that computes, then reduces with all others; `late_ns` shifts its clock."""
    lines: list[dict[str, object]] = [{"paceline_trace": 1, "workers": workers, "kind": "cpu"}]
    for step in range(steps):
        start = step * 10_000_000 + late_ns
        lines += [
            {"worker": worker, "step": step, "name": "forward", "kind": "compute", "lane": "main",
             "start_ns": start, "duration_ns": 5_000_000 + worker * 1_000_000},
            {"worker": worker, "step": step, "name": "grads", "kind": "collective", "lane": "comm",
             "start_ns": start + 5_000_000 + worker * 1_000_000,
             "duration_ns": 2_000_000 - worker * 1_000_000, "group": "dp", "sequence": step,
             "size_bytes": 1_000_000, "algorithm": "ring"},
        ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "RUN"
    folder.mkdir()
    for worker in range(2):
        native(folder / f"w{worker}.jsonl", worker)
    return folder


def test_text(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "workers    2 on" in out
    assert "group and sequence" in out
    assert "Traceback" not in out


def test_json_is_documented_and_complete(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run), "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert [worker["rank"] for worker in view["workers"]] == [0, 1]
    assert [worker["events"] for worker in view["workers"]] == [4, 4]
    assert view["missing_workers"] == []
    assert view["events"] == 8
    assert view["steps"] == [0, 1]
    assert view["groups"] == [{"name": "dp", "members": [0, 1]}]
    assert view["collectives"] == {
        "matched": 4, "unmatched": 0, "by_key": {"group and sequence": 4},
    }  # fmt: skip
    assert view["step_ms"]["median"] == pytest.approx(7.0, abs=0.01)


def test_markdown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run), "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("## What was found\n")


def test_files_are_as_good_as_their_folder(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "--json", str(run)])
    whole = json.loads(capsys.readouterr().out)
    main(["inspect", "--json", *(str(path) for path in sorted(run.iterdir()))])
    assert json.loads(capsys.readouterr().out) == whole


@pytest.mark.parametrize("name", ["job.profile", "job.profile.gz"])
def test_the_profile_is_saved_and_loads_again(run: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert main(["inspect", str(run), "-o", str(target)]) == 0
    assert model.load(target, model.Profile).events == 8


def test_a_place_that_cannot_be_written(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = run / "nowhere" / "job.profile"
    assert main(["inspect", str(run), "-o", str(target)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "cannot be written" in err


def test_a_missing_worker_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "w1.jsonl").unlink()
    assert main(["inspect", str(run)]) == 0
    assert "missing: 1" in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"{", b"[" * 10_000, b"\x1f\x8b\x08"])
def test_input_that_is_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "w0.json"
    path.write_bytes(content)
    assert main(["inspect", str(path)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "w0.json" in err
    assert "Traceback" not in err


def test_a_run_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(tmp_path / "gone")]) == 3
    assert "gone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["--max-bytes", "100"], 3),
        (["--max-bytes", "1MB"], 0),
        (["--max-bytes", "much"], 3),
        (["--max-ratio", "0"], 2),
        (["--max-ratio", "300"], 0),
        (["--format", "html"], 2),
        (["--nosuch"], 2),
    ],
)
def test_flags(run: Path, flags: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(run), *flags]) == code
    assert bool(capsys.readouterr().err) == (code != 0)


def test_flags_win_over_variables_and_those_over_files(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paceline.toml").write_text('[inspect]\nformat = "md"\n')
    main(["inspect", str(run)])
    assert capsys.readouterr().out.startswith("## ")
    monkeypatch.setenv("PACELINE_INSPECT_FORMAT", "json")
    main(["inspect", str(run)])
    assert capsys.readouterr().out.startswith("{")
    main(["inspect", str(run), "--format", "text"])
    assert capsys.readouterr().out.startswith("What was found")


def test_the_demo_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(demo_run()), "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert len(view["workers"]) == 4
    assert view["missing_workers"] == []
    assert len(view["steps"]) >= 6
    assert view["collectives"]["unmatched"] == 0
    assert view["messages"]["matched"] > 0
    assert view["messages"]["unmatched"] == 0
    assert view["links"] == []  # all on one machine
    main(["inspect", str(demo_run())])
    assert "links      not measured: all workers are on one machine" in capsys.readouterr().out


def test_the_measured_cluster_is_saved_and_read_again(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "cluster.json"
    assert main(["inspect", str(run), "--save-cluster", str(target)]) == 0
    found = read.cluster(target)
    assert [(machine.name, machine.slots) for machine in found.machines] == [
        ("worker-0", 1), ("worker-1", 1),
    ]  # fmt: skip
    assert main(["diagnose", str(run), "--cluster", str(target)]) == 0
