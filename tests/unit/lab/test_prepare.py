"""Before a run: the folder that workers and the driver read."""

from pathlib import Path

import pytest

from paceline.lab.lab_file import load_lab
from paceline.lab.prepare import prepare
from paceline.lab.progress import Progress
from paceline.model import (
    Cluster,
    Faults,
    InputError,
    Machine,
    MachineKind,
    ModelError,
    RunError,
)

CLUSTER = Cluster(
    kinds=(MachineKind(name="old", speed=0.5), MachineKind(name="plain")),
    machines=(
        Machine(name="m0", kind="old", speed=0.8, slots=2),
        Machine(name="m1", kind="plain"),
        Machine(name="m2", speed=2.0),
    ),
)


def test_workers_find_all_they_need(tmp_path: Path) -> None:
    faults = Faults().slow(worker=2, step=3, by_ms=200).phase("a", 9)
    env = prepare(tmp_path / "lab", CLUSTER, faults, compute_ms=50, spread=0.1, drift=0, seed=7)
    assert env == {"PACELINE_LAB": str(tmp_path / "lab")}
    lab = load_lab(Path(env["PACELINE_LAB"]))
    assert lab.faults == faults
    assert lab.cluster == CLUSTER
    assert (lab.compute_ms, lab.spread, lab.drift, lab.seed) == (50, 0.1, 0, 7)
    assert lab.cores >= 1
    assert Progress(tmp_path / "lab").reached(set()) == (-1, -1)


def test_speed_is_of_the_machine_times_its_kind(tmp_path: Path) -> None:
    prepare(tmp_path, CLUSTER, Faults())
    assert [m.speed for m in load_lab(tmp_path).machines] == [0.4, 1.0, 2.0]


def test_a_worker_is_where_it_is_told_or_where_its_rank_is(tmp_path: Path) -> None:
    prepare(tmp_path, CLUSTER, Faults())
    lab = load_lab(tmp_path)
    assert [lab.machine_at(rank, None) for rank in range(4)] == [0, 0, 1, 2]
    assert lab.machine_at(0, "m2") == 2
    with pytest.raises(RunError, match="more workers than slots"):
        lab.machine_at(4, None)
    with pytest.raises(RunError, match="m9"):
        lab.machine_at(0, "m9")


@pytest.mark.parametrize(
    "wrong", [{"compute_ms": 0}, {"compute_ms": -3.0}, {"spread": 0.6}, {"drift": -0.1}]
)
def test_wrong_figures_are_refused(tmp_path: Path, wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        prepare(tmp_path, CLUSTER, Faults(), **wrong)


def test_faults_of_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="names worker 4"):
        prepare(tmp_path, CLUSTER, Faults().lose(worker=4, step=1))


def test_a_folder_that_cannot_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        prepare(tmp_path / "file" / "lab", CLUSTER, Faults())


@pytest.mark.parametrize("text", [None, "{}", "no"])
def test_a_folder_of_no_run_is_said(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "lab.json").write_text(text)
    with pytest.raises(RunError, match=r"lab\.json"):
        load_lab(tmp_path)


def test_what_a_run_before_left_is_removed(tmp_path: Path) -> None:
    left = ["reference.json", "faults.jsonl", "struck-0-1", "padding-3.json", ".padding-3.part"]
    for name in (*left, "notes.txt"):
        (tmp_path / name).write_text("")
    prepare(tmp_path, CLUSTER, Faults())
    assert {p.name for p in tmp_path.iterdir()} == {"lab.json", "progress", "notes.txt"}
