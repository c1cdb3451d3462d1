"""Who descends from whom, as /proc tells."""

import os
import signal
import time
from pathlib import Path


def below(ancestor: int) -> tuple[int, ...]:
    """All descendants of a process, parents before children."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parent = _parent(entry)
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    waiting = sorted(children.get(ancestor, []))
    while waiting:
        found += waiting
        waiting = [child for pid in waiting for child in sorted(children.get(pid, []))]
    return tuple(found)


def _parent(entry: Path) -> int | None:
    """The parent of a process; None for one that has ended."""
    try:
        text = (entry / "stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent = text[text.rindex(")") + 2 :].split(" ")[:2]  # a name may hold anything
    return None if state in {"Z", "X"} else int(parent)


def kill_below(ancestor: int, within_s: float = 5.0) -> None:
    """Kills all descendants, also those that come while it kills."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        pids = below(ancestor)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)
