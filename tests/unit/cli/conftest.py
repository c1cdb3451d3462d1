"""Small runs of a job, as files: one with a slow worker, one without."""

from pathlib import Path

import pytest

from jobs import Fault, Shape, traces
from paceline import model, stitch, write
from paceline.cli import waiting

SHAPE = Shape(workers=3, steps=30, layers=4, buckets=2)


@pytest.fixture(autouse=True)
def _compiled_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether machine code is ready depends on who ran before; tests of stderr must not."""
    monkeypatch.setattr(waiting, "COMPILING", "")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with slow.jsonl, fast.jsonl and slow.profile."""
    folder = tmp_path_factory.mktemp("runs")
    slow = traces(SHAPE, Fault(cause="slow_compute", worker=1, ms=40))
    write.traces(slow, folder / "slow.jsonl")
    write.traces(traces(SHAPE, day=1), folder / "fast.jsonl")
    model.save(stitch.profile(slow), folder / "slow.profile")
    return folder
