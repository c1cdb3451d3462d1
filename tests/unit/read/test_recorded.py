"""Which files of a RUN folder tell what, whole or not."""

import json
from pathlib import Path

import pytest

from paceline import read, stitch
from paceline.model import Trace


def steps(folder: Path, rank: int, numbers: range = range(6), workers: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, object]] = [
        {"paceline_trace": 1, "workers": workers, "source": "paceline record"},
        {"facts": {"machine": f"m{rank}", "peak_bytes": 7}, "worker": rank},
        {"group": "0", "members": list(range(workers)), "worker": rank},
    ]
    if rank:
        ping = {"peer": 0, "sent_ns": 1000, "peer_ns": 1005, "received_ns": 1010}
        lines.append({"ping": ping, "worker": rank})
    for step in numbers:
        event = {"worker": rank, "step": step, "name": "coarse", "kind": "compute"}
        lines.append({**event, "start_ns": 1000 + 100 * step, "duration_ns": 90})
        lines.append({"norms": {"loss": 1.0, "local": 2.0}, "worker": rank, "step": step})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "steps.jsonl").write_text(text)


def timeline(folder: Path, rank: int, numbers: range = range(2, 5)) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    spans = []
    for step in numbers:
        start = (1000 + 100 * step) / 1000
        own = {"ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": 0.09}
        spans.append({**own, "cat": "user_annotation", "name": f"ProfilerStep#{step}"})
        spans.append({**own, "cat": "cpu_op", "name": "aten::fine", "dur": 0.05})
    head = {"schemaVersion": 1, "baseTimeNanoseconds": 0, "host_name": "same on all"}
    info = {"rank": rank, "world_size": 2}
    text = json.dumps({**head, "distributedInfo": info, "traceEvents": spans})
    (folder / "timeline.json.gz").write_text(text)


def cover(folder: Path, *ranks: int, **more: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    workers = [{"rank": rank, "folder": f"worker-{rank}"} for rank in ranks]
    content = {"schema": 1, "size": 2, "windows": [[2, 5]], "workers": workers, **more}
    (folder / "run.json").write_text(json.dumps(content))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two workers, whole."""
    cover(tmp_path, 0, 1)
    for rank in range(2):
        steps(tmp_path / f"worker-{rank}", rank)
        timeline(tmp_path / f"worker-{rank}", rank)
    return tmp_path


def names(traces: tuple[Trace, ...]) -> set[str]:
    return {trace.names[at] for trace in traces for at in set(trace.name.tolist())}


def codes(traces: tuple[Trace, ...]) -> set[str]:
    return {note.code for trace in traces for note in trace.notes}


def test_timelines_tell_events_and_the_lines_everything_else(run: Path) -> None:
    traces = read.traces(run)
    assert names(traces) == {"aten::fine"}
    assert codes(traces) == set()
    profile = stitch.profile(traces)
    assert [worker.machine for worker in profile.workers] == ["m0", "m1"]
    assert [worker.peak_bytes for worker in profile.workers] == [7, 7]
    assert profile.noise.step.tolist() == [*range(6), *range(6)]
    assert profile.noise.local.tolist() == [2.0] * 12
    assert [timeline.step for timeline in profile.measured] == [2, 3, 4]
    assert profile.alignment[1].error_ns is not None  # by the ping alone


@pytest.mark.parametrize("rank", [0, 1])
def test_without_one_timeline_the_lines_of_all_workers_count(run: Path, rank: int) -> None:
    (run / f"worker-{rank}" / "timeline.json.gz").unlink()
    traces = read.traces(run)
    assert names(traces) == {"coarse"}
    assert codes(traces) == {"coarse"}
    assert len(stitch.profile(traces).measured) == 6


def test_a_worker_that_left_nothing_is_missing(run: Path) -> None:
    for path in (run / "worker-1").iterdir():
        path.unlink()
    traces = read.traces(run)
    assert names(traces) == {"coarse"}
    assert stitch.profile(traces).missing_workers == (1,)


def test_without_a_window_there_is_nothing_to_remark(run: Path) -> None:
    for rank in range(2):
        (run / f"worker-{rank}" / "timeline.json.gz").unlink()
    assert codes(read.traces(run)) == set()


def test_without_the_cover_sheet_folders_tell_who_took_part(run: Path) -> None:
    (run / "run.json").unlink()
    assert names(read.traces(run)) == {"aten::fine"}


def test_what_an_earlier_attempt_left_is_not_read(run: Path) -> None:
    steps(run / "attempt-0" / "worker-0", 0)
    timeline(run / "attempt-0" / "worker-0", 0)
    assert len(read.traces(run)) == 4


def windows(run: Path) -> None:
    for rank in range(2):
        (run / f"worker-{rank}" / "timeline.json.gz").unlink()
    for at, numbers in enumerate((range(3), range(3, 6))):
        inside = run / f"window-{at}"
        cover(inside, 0, 1, windows=[[numbers.start, numbers.stop]])
        for rank in range(2):
            steps(inside / f"worker-{rank}", rank, numbers)
            timeline(inside / f"worker-{rank}", rank, numbers)


def test_of_several_windows_the_last_whole_one_counts(run: Path) -> None:
    windows(run)
    traces = read.traces(run)
    assert codes(traces) == {"window-chosen"}
    assert [one.step for one in stitch.profile(traces).measured] == [3, 4, 5]
    assert [one.step for one in stitch.profile(read.traces(run / "window-0")).measured] == [0, 1, 2]
    (run / "window-1" / "worker-1" / "timeline.json.gz").unlink()
    assert [one.step for one in stitch.profile(read.traces(run)).measured] == [0, 1, 2]
    (run / "window-0" / "worker-0" / "timeline.json.gz").unlink()
    assert codes(read.traces(run)) == {"coarse"}
    assert len(stitch.profile(read.traces(run)).measured) == 6


def test_the_summary_of_a_recording(run: Path) -> None:
    found = read.recording(run)
    assert (found.workers, found.size, found.steps) == ((0, 1), 2, 6)
    (window,) = found.windows
    assert (window.first, window.last, window.workers) == (2, 5, 2)
    assert found.size_bytes == sum(path.stat().st_size for path in run.rglob("*.*"))
    with (run / "worker-1" / "steps.jsonl").open("a") as file:
        file.write('{"worker": 1, "step": 6, "na')
    assert read.recording(run).steps == 6


def test_the_summary_of_several_windows(run: Path) -> None:
    windows(run)
    cover(run, 0, 1, windows=[[0, 3], [3, 6], [90, 99]])
    (run / "window-1" / "worker-1" / "timeline.json.gz").unlink()
    found = read.recording(run)
    assert [(w.first, w.workers, Path(w.folder).name) for w in found.windows] == [
        (0, 2, "window-0"), (3, 1, "window-1"),
    ]  # fmt: skip


def test_a_folder_without_a_recording_has_none(tmp_path: Path) -> None:
    assert read.recording(tmp_path).workers == ()
    assert read.recording(tmp_path / "nowhere").workers == ()
    (tmp_path / "run.json").write_text("not json")
    (tmp_path / "worker-0").mkdir()
    (tmp_path / "worker-0" / "steps.jsonl").write_text('{"paceline_trace": 1}\n')
    assert read.recording(tmp_path).steps == 0
    assert read.recording(tmp_path).size is None
