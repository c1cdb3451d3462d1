"""The files of a run, found under a folder that is not to be trusted.

Regular files only (a pipe would block for ever), each folder once whatever links point to it, in
natural order: rank_2 before rank_10.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from paceline.model import InputError

MOST_FILES = 100_000
DEEPEST = 16
_DIGITS = re.compile(r"([0-9]+)")


def natural(path: Path) -> list[str | int]:
    """A sorting key in which the numbers inside a path count as numbers."""
    parts = _DIGITS.split(str(path))
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The files that are named, and those under the folders that are named, each once."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(_under(path)))
        else:
            found[path] = None
    return list(found)


def _under(root: Path) -> list[Path]:
    files: list[Path] = []
    seen: set[tuple[int, int]] = set()
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        for entry in _entries(folder):
            if entry.name.startswith("."):
                continue
            if entry.is_file():
                files.append(Path(entry.path))
            elif entry.is_dir() and depth < DEEPEST and _first_visit(entry, seen):
                waiting.append((Path(entry.path), depth + 1))
        if len(files) > MOST_FILES:
            raise InputError(
                f"holds more than {MOST_FILES:,} files.",
                where=root,
                expected="A run has a few files for each worker.",
                cure="Name the folder of one run.",
            )
    return sorted(files, key=natural)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise InputError(
            f"cannot be listed ({error.strerror or error}).",
            where=folder,
            cure="Check the path and its permissions.",
        ) from error


def _first_visit(entry: os.DirEntry[str], seen: set[tuple[int, int]]) -> bool:
    status = entry.stat()
    mark = (status.st_dev, status.st_ino)
    fresh = mark not in seen
    seen.add(mark)
    return fresh
