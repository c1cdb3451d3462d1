"""The reference: what a unit of cost takes, and how all workers come to one figure."""

import threading
from pathlib import Path

import pytest

from paceline.lab import padding_reference
from paceline.lab.lab_file import LabFile
from paceline.lab.padding_reference import agreed, known, reference, rounded
from paceline.lab.progress import Progress
from paceline.model import Cluster, Faults, Machine, RunError


def lab(compute_ms: float | None, *speeds: float, cores: int = 2) -> LabFile:
    machines = tuple(Machine(name=f"m{at}", speed=speed) for at, speed in enumerate(speeds))
    return LabFile(
        cluster=Cluster(machines=machines), compute_ms=compute_ms, spread=0, drift=0, seed=0,
        cores=cores, faults=Faults(),
    )  # fmt: skip


def test_the_median_worker_takes_what_was_asked() -> None:
    found = reference(lab(100, 1.0), [10, 20, 40], [1, 1, 1])
    assert (found.compute_ms, found.ns_per_cost) == (100, 100e6 / 20)


def test_unasked_the_fastest_still_has_three_times_its_share() -> None:
    found = reference(lab(None, 1.0, 4.0, cores=2), [10] * 8, [5_000_000] * 8)
    # 8 workers on 2 cores: 4 x 5 ms of CPU, three times that on a machine of speed 4
    assert found.compute_ms == rounded(3 * 4 * 5 * 4)
    assert found.compute_ms / 4 >= 3 * 4 * 5


def test_few_workers_do_not_share_a_core() -> None:
    assert reference(lab(None, 1.0, cores=8), [10], [20_000_000]).compute_ms == 60


def test_small_steps_are_not_smaller_than_what_sleeping_can_do() -> None:
    assert reference(lab(None, 1.0), [10], [1000]).compute_ms == 10


@pytest.mark.parametrize(
    ("ms", "up"), [(10, 10), (10.1, 12), (99, 100), (100, 100), (101, 120), (4100, 5000)]
)
def test_figures_are_rounded_up(ms: float, up: float) -> None:
    assert rounded(ms) == up


def test_all_agree_and_who_comes_back_too(tmp_path: Path) -> None:
    Progress.create(tmp_path)
    table = Progress(tmp_path)
    found = []
    for rank in range(3):
        table.begin(rank, 0)

    def measure(rank: int) -> None:
        own = Progress(tmp_path)
        own.measured(rank, 10.0 * (rank + 1), 1000)
        found.append(agreed(tmp_path, lab(60, 1.0), own, 3))

    threads = [threading.Thread(target=measure, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert [one.ns_per_cost for one in found] == [60e6 / 20] * 3
    table.measured(0, 99.0, 1)
    assert agreed(tmp_path, lab(60, 1.0), table, 3) == found[0] == known(tmp_path)
    assert not list(tmp_path.glob(".*"))


def test_waiting_for_others_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(padding_reference, "PATIENCE_S", 0.02)
    Progress.create(tmp_path)
    table = Progress(tmp_path)
    table.begin(0, 0)
    table.begin(1, 0)
    table.measured(0, 1, 1)
    with pytest.raises(RunError, match="not all workers"):
        agreed(tmp_path, lab(60, 1.0), table, 2)
    assert known(tmp_path) is None
