"""The published answers of a real pipeline job."""

from pathlib import Path

import pytest

from published import measured


@pytest.fixture(scope="module")
def found(shared_data: Path) -> dict[str, float]:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    return measured(shared_data / "traces/pipeline-ops")


def test_steps_are_the_files(found: dict[str, float]) -> None:
    assert found["steps"] == 32
    assert found["read"] < 1e-3


def test_replay_reproduces_every_step(found: dict[str, float]) -> None:
    assert found["replay_worst"] < 0.01


def test_even_steps_predict_odd_ones(found: dict[str, float]) -> None:
    assert abs(found["unseen"]) < 0.02
    assert abs(found["unseen_typical"]) < 0.02


@pytest.mark.parametrize("what", ["launch", "blocking"])
def test_slowdowns_are_the_published_ones(found: dict[str, float], what: str) -> None:
    assert found[what] == pytest.approx(found[f"{what}_published"], rel=0.01)
