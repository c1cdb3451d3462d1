"""Which files of a RUN folder tell what, where `paceline record` made it (decision 0005).

Where all workers left a timeline, events come from timelines and hops, and `steps.jsonl` says
everything else; where one was lost before, events are those of `steps.jsonl`, for all workers. Of
several windows the last one counts that all workers recorded.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from paceline.model import Note, Trace
from paceline.read.opened import Caps
from paceline.read.run_file import RunFile, run_file

STEPS = "steps.jsonl"
TIMELINE = "timeline.json.gz"
_DETAILED = (TIMELINE, "hops.jsonl", "flight.json")
_WORKER = re.compile(r"worker-(\d{1,6})", re.ASCII)
_WINDOW = re.compile(r"window-(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The files of a recording to read; of those in `silent` the events do not count."""

    root: Path
    cover: RunFile
    files: tuple[Path, ...]
    silent: frozenset[Path] = frozenset()
    notes: tuple[Note, ...] = field(default=())


def chosen(root: Path, cover: RunFile, caps: Caps) -> Chosen | None:
    """What to read of a recording; None if the folder is none."""
    if not workers(root):
        return None
    windows = window_folders(root)
    for window in reversed(windows):
        inside = run_file(window, caps)
        if complete(window, cover):
            text = f"{window.name} of {root.name} was taken, the last that all workers recorded."
            note = Note(code="window-chosen", text=text)
            return replace(_of(window, inside, detailed=True), notes=(note,))
    found = _of(root, cover, detailed=complete(root, cover))
    if found.silent or not (windows or any((one / TIMELINE).is_file() for one in _folders(root))):
        return found
    text = "not all workers left a timeline: events are those that each wrote step by step."
    return replace(found, notes=(Note(code="coarse", text=text),))


def workers(root: Path) -> dict[int, Path]:
    """The workers that have begun to record, and their folders."""
    numbered = {int(match[1]): path for path in _inside(root) if (match := _named(path, _WORKER))}
    return {rank: path for rank, path in sorted(numbered.items()) if (path / STEPS).is_file()}


def window_folders(root: Path) -> list[Path]:
    """The folders of windows, in order."""
    numbered = {int(match[1]): path for path in _inside(root) if (match := _named(path, _WINDOW))}
    return [path for _, path in sorted(numbered.items())]


def complete(root: Path, cover: RunFile) -> bool:
    """True if every worker that is known of left a timeline here."""
    known = workers(root).keys() | {worker.rank for worker in cover.workers}
    return bool(known) and all((root / f"worker-{rank}" / TIMELINE).is_file() for rank in known)


def without_events(trace: Trace) -> Trace:
    """What the trace says besides its events."""
    columns = {
        name: getattr(trace, name)[:0]
        for name in Trace.__slots__
        if isinstance(getattr(trace, name), np.ndarray) and name != "after_from"
    }
    return replace(trace, **columns, after_from=trace.after_from[:1])


def _of(root: Path, cover: RunFile, *, detailed: bool) -> Chosen:
    steps = [folder / STEPS for folder in workers(root).values()]
    found = [folder / name for folder in _folders(root) for name in _DETAILED] if detailed else []
    files = [path for path in found if path.is_file()] + steps
    silent = frozenset(steps) if detailed else frozenset[Path]()
    return Chosen(root=root, cover=cover, files=tuple(files), silent=silent)


def _folders(root: Path) -> list[Path]:
    return [path for path in _inside(root) if _named(path, _WORKER)]


def _inside(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir())


def _named(path: Path, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.fullmatch(path.name)
