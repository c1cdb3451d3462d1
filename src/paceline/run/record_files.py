"""All that one worker writes as lines: its file of the whole run, and one of each window's folder.

What holds for the whole recording (facts, groups, clock exchanges) goes into every file, also into
those that are opened later, so that the folder of a window can be read on its own.
"""

from collections.abc import Mapping
from pathlib import Path

from paceline.run.record_file import Lines


class Files:
    """The open files of one worker; every method may raise OSError, as on a full disk."""

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.head: list[Mapping[str, object]] = []
        self.files = [Lines(folder / f"worker-{rank}", size)]

    def tell(self, line: Mapping[str, object]) -> None:
        """A line that holds for the whole recording."""
        self.head.append(line)
        self.add(line)

    def tell_group(self, name: str, members: list[int]) -> None:
        """Who is in a group, once, if this worker is."""
        known = any(line.get("group") == name for line in self.head)
        if self.rank in members and not known:
            self.tell({"group": name, "members": members, "worker": self.rank})

    def add(self, line: Mapping[str, object]) -> None:
        """A line of what happens now."""
        for file in self.files:
            file.add(line)

    def flush(self) -> None:
        """Hands all lines to the system."""
        for file in self.files:
            file.flush()

    def open_window(self, folder: Path) -> None:
        """From now on lines also go into the folder of a window."""
        file = Lines(folder / f"worker-{self.rank}", self.size)
        self.files.append(file)
        for line in self.head:
            file.add(line)

    def close_window(self) -> None:
        """The folder of the window that is over, if it has one, is complete."""
        while len(self.files) > 1:
            self.files.pop().close()

    def close(self) -> None:
        """All files are complete."""
        self.close_window()
        self.files.pop().close()
