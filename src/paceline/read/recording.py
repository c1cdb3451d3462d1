"""What lies in a RUN folder, without reading the traces: for the summary after a recording."""

from pathlib import Path

import msgspec

from paceline.model import RecordedWindow, Recording
from paceline.read.recorded import STEPS, TIMELINE, window_folders, workers
from paceline.read.run_file import NAME

_TAIL = 1 << 18  # bytes; the last step is somewhere in them
_LARGEST = 1 << 28


class _Cover(msgspec.Struct, kw_only=True):
    size: int | None = None
    windows: tuple[tuple[int, int], ...] = ()


class _Line(msgspec.Struct, kw_only=True):
    step: int | None = None


def recording(folder: Path | str) -> Recording:
    """What a recording has left; a folder without one has no workers."""
    root = Path(folder)
    found = workers(root) if root.is_dir() else {}
    cover = _cover(root)
    folders = window_folders(root) if found and len(cover.windows) > 1 else []
    places = dict.fromkeys(cover.windows, root) if len(cover.windows) == 1 else {}
    for at, window in enumerate(cover.windows):
        if root / f"window-{at}" in folders:
            places[window] = root / f"window-{at}"
    windows = tuple(
        RecordedWindow(
            first=first,
            last=last,
            folder=str(places[first, last]),
            workers=sum(
                (one / TIMELINE).is_file() for one in workers(places[first, last]).values()
            ),
        )
        for first, last in cover.windows
        if (first, last) in places
    )
    return Recording(
        folder=str(root),
        workers=tuple(found),
        size=cover.size,
        steps=min((_steps(path / STEPS) for path in found.values()), default=0),
        windows=windows,
        size_bytes=_size(root),
    )


def _cover(root: Path) -> _Cover:
    path = root / NAME
    try:
        if path.stat().st_size <= _LARGEST:
            return msgspec.json.decode(path.read_bytes(), type=_Cover)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        pass  # the first worker was lost before it wrote one
    return _Cover()


def _steps(path: Path) -> int:
    """How many steps are over, by the last one that the file tells of."""
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL))
        tail = file.read().splitlines()
    for line in reversed(tail):
        try:
            step = msgspec.json.decode(line, type=_Line).step
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if step is not None:
            return step + 1
    return 0


def _size(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
