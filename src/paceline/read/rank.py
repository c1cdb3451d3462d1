"""Whose trace a file is, where its content does not say: by its name, by run.json, by position.

Names are tried from the file upwards: `rank_3.json`, `worker3/trace.json`,
`host_12.3.pt.trace.json`.
"""

import re
from collections.abc import Sequence
from pathlib import Path

_NAMED = (
    re.compile(r"(?:^|[^a-z])(?<!local[_-])rank[ _.=-]?(\d{1,7})(?!\d)", re.IGNORECASE | re.ASCII),
    re.compile(r"(?:^|[^a-z])worker[ _.=-]?(\d{1,7})(?!\d)", re.IGNORECASE | re.ASCII),
    # longer numbers in this place are times, not ranks
    re.compile(r"\.(\d{1,6})\.pt\.trace\.json", re.IGNORECASE | re.ASCII),
)


def rank_by_name(path: Path, root: Path) -> int | None:
    """The rank that a file's name, or a folder's between it and `root`, gives."""
    part = path
    while part not in (root, part.parent):
        for pattern in _NAMED:
            if match := pattern.search(part.name):
                return int(match[1])
        part = part.parent
    return None


def ranks_by_position(count: int, taken: Sequence[int]) -> list[int]:
    """The lowest `count` ranks that are not taken, in order."""
    used = set(taken)
    free = (rank for rank in range(count + len(used)) if rank not in used)
    return [rank for rank, _ in zip(free, range(count), strict=False)]
