"""Which moments make a step, driven by hand; what fails inside never reaches the training."""

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paceline import read
from paceline.model import Trace
from paceline.run import recorder as recording
from paceline.run.record_files import Files
from paceline.run.record_settings import Settings
from paceline.run.recorder import Recorder


class Loss:
    is_cuda = False

    def numel(self) -> int:
        return 1

    def detach(self) -> "Loss":
        return self

    def item(self) -> float:
        return 0.5


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """One that has met nobody and has no windows."""
    made = Recorder(Settings(folder=tmp_path, windows=()))
    made.rank, made.begun = 0, True
    made.files = Files(tmp_path, 0, 1)
    quiet: Any = SimpleNamespace(before=lambda _: None, close=lambda: None, drop=lambda: None)
    made.windows = quiet
    alone: Any = SimpleNamespace(pings=list, close=lambda: None)
    made.meeting = alone
    made.next_step(0)
    return made


def backward(recorder: Recorder, times: int = 1) -> None:
    for _ in range(times):
        recorder.backward_begins(Loss())
        recorder.backward_ends()


def update(recorder: Recorder) -> None:
    recorder.update_begins()
    recorder.update_ends()


def written(recorder: Recorder) -> Trace:
    recorder.end()
    return read.trace(recorder.settings.folder / "worker-0" / "steps.jsonl")


def steps(trace: Trace, name: str) -> list[int]:
    return [event.step or 0 for event in trace if event.name == name]


def test_a_step_ends_with_the_update(recorder: Recorder) -> None:
    for _ in range(3):
        backward(recorder)
        update(recorder)
    trace = written(recorder)
    assert steps(trace, "forward") == steps(trace, "backward") == [0, 1, 2]
    assert steps(trace, "update") == [0, 1, 2]
    assert trace.norms.loss.tolist() == [0.5] * 3


def test_several_backwards_make_one_step(recorder: Recorder) -> None:
    for _ in range(2):
        backward(recorder, 3)
        update(recorder)
    trace = written(recorder)
    assert steps(trace, "backward") == [0, 0, 0, 1, 1, 1]
    assert trace.norms.loss.tolist() == [1.5] * 2


def test_with_two_optimizers_the_second_ends_the_step_once_it_is_known(recorder: Recorder) -> None:
    for _ in range(3):
        backward(recorder)
        update(recorder)
        update(recorder)
    assert steps(written(recorder), "update") == [0, 1, 1, 1, 2, 2]


def test_an_optimizer_that_rests_ends_the_step_with_the_next_backward(recorder: Recorder) -> None:
    for both in (True, True, False, True):
        backward(recorder)
        update(recorder)
        if both:
            update(recorder)
    assert set(steps(written(recorder), "backward")) == {0, 1, 2, 3}


def test_an_optimizer_inside_another_is_no_second_one(recorder: Recorder) -> None:
    for _ in range(2):
        backward(recorder)
        recorder.update_begins()
        update(recorder)
        recorder.update_ends()
    assert steps(written(recorder), "update") == [0, 1]


def test_by_hand_only_the_script_ends_steps(recorder: Recorder) -> None:
    recorder.end_step_by_hand()
    for _ in range(2):
        backward(recorder)
        update(recorder)
        update(recorder)
        recorder.end_step_by_hand()
    trace = written(recorder)
    assert steps(trace, "backward") == [1, 2]
    assert steps(trace, "update") == [1, 1, 2, 2]


def test_a_failure_is_one_line_and_ends_the_recording(
    recorder: Recorder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    backward(recorder)

    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder.files, "flush", full)
    for _ in range(3):
        update(recorder)
        backward(recorder)
    assert recorder.over
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("paceline: the recording of worker 0 stopped (No space left on device)")
    assert line.endswith("the training goes on.")


def test_a_paused_recorder_hears_nothing(recorder: Recorder) -> None:
    recorder.paused = True
    backward(recorder)
    update(recorder)
    recorder.paused = False
    assert len(written(recorder)) == 0


@pytest.mark.parametrize(("restarts", "name"), [("2", "attempt-1"), ("1", "attempt-0")])
def test_what_an_earlier_attempt_left_is_set_aside(
    tmp_path: Path, restarts: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", restarts)
    (tmp_path / "worker-3").mkdir()
    (tmp_path / "worker-3" / "steps.jsonl").touch()
    recording._set_aside(tmp_path, 3)
    recording._set_aside(tmp_path, 4)
    assert (tmp_path / name / "worker-3" / "steps.jsonl").exists()
    assert not (tmp_path / "worker-3").exists()
