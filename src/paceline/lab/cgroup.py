"""Quotas of processor time for the machines of a lab, by control groups of version 1 or 2.

The folder of a lab bears its process and that process's start, so that the next lab tells folders
whose lab is gone, however it ended, and removes them.
"""

import contextlib
import re
import time
from dataclasses import dataclass
from pathlib import Path

from paceline.model import RunError

PREFIX = "paceline-lab"
PERIOD_US = 20_000  # short against a training step, so that the wait for the next one is too
LEAST_US = 1_000  # the kernel takes no shorter quota
MOUNTS = Path("/proc/self/mounts")
PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Tree:
    """Where quotas are given: the folder to make groups in, and the version of its rules."""

    folder: Path
    version: int


def tree(mounts: Path = MOUNTS) -> Tree | None:
    """The tree that gives processor time; None if this kernel offers none."""
    unified = None
    for line in mounts.read_text().splitlines():
        _, folder, kind, options = line.split(" ")[:4]
        if kind == "cgroup" and "cpu" in options.split(","):
            return Tree(Path(folder), 1)
        if kind == "cgroup2":
            unified = Path(folder)
    if unified is not None:
        offered = unified / "cgroup.controllers"
        if offered.exists() and "cpu" in offered.read_text().split():
            return Tree(unified, 2)
    return None


def started(pid: int, proc: Path = PROC) -> str | None:
    """When a process started, in ticks since the kernel did; None if there is none."""
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split(" ")[19]


def remove_leftovers(tree: Tree, proc: Path = PROC) -> list[str]:
    """Removes the groups of labs that are gone; returns their names."""
    removed: list[str] = []
    for folder in sorted(tree.folder.glob(f"{PREFIX}-*")):
        match = re.fullmatch(rf"{PREFIX}-(\d+)-(\d+)-\d+", folder.name)
        if match and started(int(match[1]), proc) != match[2]:
            _remove(folder)
            removed.append(folder.name)
    return removed


class Groups:
    """The groups of one lab: one for each machine, by its number."""

    def __init__(self, tree: Tree, name: str, machines: int) -> None:
        self.tree = tree
        self.folder = tree.folder / name
        try:
            if tree.version == 2:
                _lend(tree.folder)
            self.folder.mkdir()
            if tree.version == 2:
                _lend(self.folder)
            for machine in range(machines):
                self.of(machine).mkdir()
        except OSError as error:
            self.remove()
            raise RunError(
                f"no group for processor time can be made: {error.strerror}.",
                where=self.folder,
                cure="Run the lab as root of the machine, or leave cores out of the cluster.",
            ) from error

    def of(self, machine: int) -> Path:
        """The folder of a machine's group."""
        return self.folder / f"machine-{machine}"

    def quota(self, machine: int, cores: float | None) -> None:
        """The machine may use so many cores from now on; None takes the limit away."""
        folder = self.of(machine)
        share = None if cores is None else max(LEAST_US, round(cores * PERIOD_US))
        if self.tree.version == 2:
            (folder / "cpu.max").write_text(f"{'max' if share is None else share} {PERIOD_US}")
            return
        # never a quota of the old period with the new one
        (folder / "cpu.cfs_quota_us").write_text("-1")
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        if share is not None:
            (folder / "cpu.cfs_quota_us").write_text(str(share))

    def remove(self) -> None:
        """Takes all groups away; their processes have ended."""
        _remove(self.folder)


def _lend(folder: Path) -> None:
    """Lets the groups below this one have quotas (version 2)."""
    lending = folder / "cgroup.subtree_control"
    if "cpu" not in (lending.read_text().split() if lending.exists() else ()):
        lending.write_text("+cpu")


def _remove(folder: Path, within_s: float = 3.0) -> None:
    """Removes a group and those in it; processes that were killed may take a moment to go."""
    end = time.monotonic() + within_s
    while folder.exists() and time.monotonic() < end:
        for path in (*folder.glob("*/"), folder):
            with contextlib.suppress(OSError):
                path.rmdir()
        if folder.exists():
            time.sleep(0.01)
