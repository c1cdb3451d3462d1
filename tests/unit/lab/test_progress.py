"""The table of progress: one row a worker, seen by whoever maps the file."""

import os
from pathlib import Path

import pytest

from paceline.lab.progress import Progress
from paceline.model import RunError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Progress.create(tmp_path)
    return tmp_path


def test_before_anybody_has_begun_nothing_is_reached(folder: Path) -> None:
    assert Progress(folder).reached(set()) == (-1, -1)


def test_others_see_what_a_worker_reaches(folder: Path) -> None:
    worker, driver = Progress(folder), Progress(folder)
    assert worker.begin(3, machine=1) == 0
    worker.reach(3, 7)
    assert driver.reached(set()) == (7, 7)
    worker.begin(0, machine=0)
    worker.reach(0, 9)
    assert driver.reached(set()) == (9, 7)
    assert driver.reached({3}) == (9, 9)
    assert driver.on(1) == {3}


def test_who_comes_back_goes_on_where_the_others_are(folder: Path) -> None:
    progress = Progress(folder)
    progress.begin(0, 0)
    progress.begin(1, 0)
    progress.reach(0, 5)
    assert progress.begin(1, 0) == 5


def test_who_is_frozen_is_found(folder: Path) -> None:
    progress = Progress(folder)
    progress.begin(2, 0)
    assert progress.frozen() == []
    progress.freeze(2, 0)
    assert progress.frozen() == [(2, os.getpid(), 0)]
    progress.freeze(2, -1)
    assert progress.frozen() == []


def test_costs_are_there_when_all_who_began_have_measured(folder: Path) -> None:
    progress = Progress(folder)
    for rank in (0, 2):
        progress.begin(rank, 0)
    progress.measured(0, 10.4, 500)
    assert progress.costs(4) is None
    progress.measured(2, 30.0, 700)
    assert progress.costs(4) == ([10, 30], [500, 700])


def test_without_the_file_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="progress"):
        Progress(tmp_path)
