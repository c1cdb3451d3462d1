"""Availability histories: polarity above all."""

import gzip
import json
from pathlib import Path

import pytest

from paceline.model import InputError
from paceline.read import history

PUBLIC = {"metadata": {"gap_seconds": 300, "anything": [1]}, "data": [1, 0, 0]}


def written(tmp_path: Path, content: object) -> Path:
    path = tmp_path / "h.json"
    path.write_text(json.dumps(content))
    return path


def test_the_public_form_needs_a_polarity(tmp_path: Path):
    path = written(tmp_path, PUBLIC)
    assert history(path, polarity="available").available == (1, 0, 0)
    assert history(path, polarity="preempted").available == (0, 1, 1)
    with pytest.raises(InputError, match="--polarity"):
        history(path)


def test_the_gap_may_stand_outside_metadata(tmp_path: Path):
    path = written(tmp_path, {"gap_seconds": 60, "metadata": {"gap_seconds": 300}, "data": [1]})
    assert history(path, polarity="available").gap_s == 60.0


def test_a_file_that_says_its_polarity_may_be_told_the_same(tmp_path: Path):
    path = written(tmp_path, {"gap_seconds": 60, "available": [2]})
    assert history(path, polarity="available").available == (2,)
    with pytest.raises(InputError, match="counts machines available, not preempted"):
        history(path, polarity="preempted")


@pytest.mark.parametrize("word", ["Available", "avail", "", "1", "\x1b[31m"])
def test_other_words_are_no_polarity(tmp_path: Path, word: str):
    with pytest.raises(InputError, match="Did you mean") as caught:
        history(written(tmp_path, PUBLIC), polarity=word)
    assert "\x1b" not in str(caught.value)


def test_both_polarities_of_one_series_are_one_history(tmp_path: Path):
    one = history(written(tmp_path, {"gap_seconds": 9, "capacity": 4, "available": [0, 1, 4]}))
    other = history(written(tmp_path, {"gap_seconds": 9, "capacity": 4, "preempted": [4, 3, 0]}))
    assert one == other


def test_capacity_may_stand_in_metadata(tmp_path: Path):
    content = {"metadata": {"gap_seconds": 9, "capacity": 16}, "data": [16, 1]}
    assert history(written(tmp_path, content), polarity="preempted").available == (0, 15)


def test_a_packed_file_is_named_by_its_name(tmp_path: Path):
    path = tmp_path / "us-east-1a.json.gz"
    path.write_bytes(gzip.compress(json.dumps(PUBLIC).encode()))
    assert history(str(path), polarity="available").name == "us-east-1a.json.gz"


def test_an_endless_number_is_named_and_not_printed(tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_text('{"gap_seconds": 1, "available": [' + "9" * 10_000 + "]}")
    with pytest.raises(InputError) as caught:
        history(path)
    assert len(str(caught.value)) < 600


def test_depth_bombs_are_refused(tmp_path: Path):
    path = tmp_path / "h.json"
    path.write_text('{"gap_seconds": 1, "available": ' + "[" * 100_000)
    with pytest.raises(InputError, match="not JSON"):
        history(path)
