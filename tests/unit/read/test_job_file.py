"""job.yaml: what the golden files do not show."""

from pathlib import Path

import pytest

from paceline.model import InputError, Job
from paceline.read import job


def test_an_empty_job_is_the_default(tmp_path: Path):
    (tmp_path / "job.yaml").write_text("")
    assert job(tmp_path / "job.yaml") == Job()


def test_every_key_fills_one_field(tmp_path: Path):
    path = tmp_path / "job.yaml"
    for key, field in (
        ("checkpoint_time", "checkpoint_time_ns"),
        ("restart_time", "restart_time_ns"),
    ):
        path.write_text(f"{key}: 250ms")
        assert job(path) == Job(**{field: 250_000_000})


def test_a_kind_is_a_name(tmp_path: Path):
    path = tmp_path / "job.yaml"
    path.write_text('step_time: {"a\\e[1m": 1s}')
    with pytest.raises(InputError, match=r"step_time: .* is not a name"):
        job(path)
