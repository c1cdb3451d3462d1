"""Both versions of control groups on folders that look like them; tests/real has the kernel's."""

import os
from pathlib import Path

import pytest

from paceline.lab import cgroup
from paceline.lab.cgroup import Groups, Tree, remove_leftovers, started, tree
from paceline.model import RunError


def mounts(folder: Path, *lines: str) -> Path:
    path = folder / "mounts"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_version_1_is_known_by_its_controller(tmp_path: Path) -> None:
    found = tree(
        mounts(
            tmp_path,
            "cgroup /c/memory cgroup rw,memory 0 0",
            f"cgroup2 {tmp_path} cgroup2 rw 0 0",
            "cgroup /c/cpu cgroup rw,relatime,cpu,cpuacct 0 0",
        )
    )
    assert found == Tree(Path("/c/cpu"), 1)


@pytest.mark.parametrize(("controllers", "there"), [("cpuset cpu io", True), ("cpuset io", False)])
def test_version_2_must_offer_processor_time(tmp_path: Path, controllers: str, there: bool) -> None:
    (tmp_path / "cgroup.controllers").write_text(controllers)
    found = tree(mounts(tmp_path, f"cgroup2 {tmp_path} cgroup2 rw,nosuid 0 0"))
    assert found == (Tree(tmp_path, 2) if there else None)


def test_without_control_groups_there_is_none(tmp_path: Path) -> None:
    assert tree(mounts(tmp_path, "proc /proc proc rw 0 0")) is None


def test_quotas_of_version_1(tmp_path: Path) -> None:
    groups = Groups(Tree(tmp_path, 1), "paceline-lab-1-2-3", 2)
    groups.quota(1, 0.25)
    own = groups.of(1)
    assert (own / "cpu.cfs_period_us").read_text() == "20000"
    assert (own / "cpu.cfs_quota_us").read_text() == "5000"
    groups.quota(1, None)
    assert (own / "cpu.cfs_quota_us").read_text() == "-1"
    assert not (groups.of(0) / "cpu.cfs_quota_us").exists()


def test_quotas_of_version_2_and_who_may_have_them(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu io")
    groups = Groups(Tree(tmp_path, 2), "paceline-lab-1-2-3", 1)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "cpu io"
    assert (groups.folder / "cgroup.subtree_control").read_text() == "+cpu"
    groups.quota(0, 1.5)
    assert (groups.of(0) / "cpu.max").read_text() == "30000 20000"
    groups.quota(0, None)
    assert (groups.of(0) / "cpu.max").read_text() == "max 20000"


def test_the_shortest_quota_is_what_the_kernel_takes(tmp_path: Path) -> None:
    groups = Groups(Tree(tmp_path, 2), "paceline-lab-1-2-3", 1)
    groups.quota(0, 0.0001)
    assert (groups.of(0) / "cpu.max").read_text() == "1000 20000"


def test_a_tree_that_refuses_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no group for processor time can be made"):
        Groups(Tree(tmp_path / "nowhere", 1), "paceline-lab-1-2-3", 1)


def stat(pid: int, ticks: int) -> str:
    return f"{pid} (a ) name) S 1 " + "0 " * 17 + f"{ticks} 0 0\n"


def test_only_groups_whose_lab_is_gone_are_removed(tmp_path: Path) -> None:
    proc, folder = tmp_path / "proc", tmp_path / "cpu"
    for pid in (10, 11):
        (proc / str(pid)).mkdir(parents=True)
        (proc / str(pid) / "stat").write_text(stat(pid, 700 + pid))
    names = (
        "paceline-lab-10-710-1",
        "paceline-lab-11-5-1",
        "paceline-lab-12-712-1",
        "other-12-1-1",
    )
    for name in names:  # alive, its number used again, gone, somebody else's
        (folder / name / "machine-0").mkdir(parents=True)
    removed = remove_leftovers(Tree(folder, 1), proc)
    assert removed == ["paceline-lab-11-5-1", "paceline-lab-12-712-1"]
    assert sorted(path.name for path in folder.iterdir()) == ["other-12-1-1", names[0]]


def test_the_start_of_a_process_is_told_apart_from_none() -> None:
    assert started(os.getpid()) == started(os.getpid())
    assert int(started(os.getpid()) or 0) > 0
    assert started(2**22 + 5) is None


def test_the_name_of_a_group_is_what_leftovers_are_known_by() -> None:
    assert cgroup.PREFIX == "paceline-lab"
