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
    seen = {_mark(root)}
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        for entry in _entries(folder):
            path = Path(entry.path)
            if entry.name.startswith("."):
                continue
            if path.is_file():
                files.append(path)
            elif path.is_dir() and depth < DEEPEST and (mark := _mark(path)) not in seen:
                seen.add(mark)
                waiting.append((path, depth + 1))
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


def _mark(folder: Path) -> tuple[int, int]:
    """What a folder is known by, whatever links lead to it."""
    status = folder.stat()
    return status.st_dev, status.st_ino
