import errno
import json
import os
from pathlib import Path

import pytest

from paceline import read
from paceline.run import record_file
from paceline.run.record_file import Lines, whole_file
from paceline.run.record_files import Files


def event(step: int) -> dict[str, object]:
    return {"worker": 0, "step": step, "name": "x", "kind": "compute", "start_ns": 9 + step,
            "duration_ns": 1}  # fmt: skip


def test_what_was_flushed_is_on_disk_before_the_end(tmp_path: Path) -> None:
    lines = Lines(tmp_path, 2)
    lines.add(event(0))
    lines.flush()
    lines.add(event(1))
    (trace,) = read.traces([tmp_path / "steps.jsonl"])
    assert trace.step.tolist() == [0]
    lines.close()
    assert len(read.trace(tmp_path / "steps.jsonl")) == 2


def test_a_full_disk_is_an_error_and_leaves_what_fits_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines(tmp_path, 1)
    lines.add(event(0))
    lines.flush()
    write, room = os.write, [50]

    def short(file: int, content: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = write(file, content[: room[0]])
        room[0] -= done
        return done

    monkeypatch.setattr(record_file.os, "write", short)
    lines.add(event(1))
    with pytest.raises(OSError, match="No space"):
        lines.flush()
    monkeypatch.undo()
    trace = read.trace(tmp_path / "steps.jsonl")
    assert trace.step.tolist() == [0]
    assert [note.code for note in trace.notes] == ["truncated"]


def test_a_whole_file_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    whole_file(tmp_path / "a", b"old")
    monkeypatch.setattr(record_file.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        whole_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_file_of_a_window_can_be_read_on_its_own(tmp_path: Path) -> None:
    files = Files(tmp_path, 0, 2)
    files.tell({"facts": {"machine": "m0"}, "worker": 0})
    files.tell_group("dp", [0, 1])
    files.tell_group("dp", [0, 1])
    files.tell_group("others", [1])
    files.add(event(0))
    files.open_window(tmp_path / "window-0")
    files.add(event(1))
    files.close_window()
    files.add(event(2))
    files.close()
    whole = read.trace(tmp_path / "worker-0" / "steps.jsonl")
    part = read.trace(tmp_path / "window-0" / "worker-0" / "steps.jsonl")
    assert (whole.step.tolist(), part.step.tolist()) == ([0, 1, 2], [1])
    assert part.facts.machine == whole.facts.machine == "m0"
    text = (tmp_path / "worker-0" / "steps.jsonl").read_text()
    assert [json.loads(line)["group"] for line in text.splitlines() if "group" in line] == ["dp"]
