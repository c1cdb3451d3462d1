"""Records some steps in detail: torch.profiler's timeline and the flight recorder's calls.

Torch allows one profiler at a time. If the script uses one of its own, ours keeps away. Files are
written beside and renamed, so that a timeline is there whole or not at all.
"""

import gzip
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from paceline.run.lazy_torch import torch
from paceline.run.record_file import whole_file

TIMELINE, FLIGHT, HOPS = "timeline.json.gz", "flight.json", "hops.jsonl"
_FAST = 1  # of gzip's levels: a timeline shrinks to a tenth at any of them
_TAIL = 16


class Window:
    """One window while it is recorded, in the thread that trains."""

    def __init__(self, folder: Path, *, cuda: bool) -> None:
        profiler = torch("profiler")
        each = profiler.ProfilerActivity
        kinds = [each.CPU, *([each.CUDA] if cuda else [])]
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        # without shapes, the sizes of gloo's collectives stay unknown
        self.profile: Any = profiler.profile(activities=kinds, record_shapes=True)
        self.profile.prepare_trace()
        self.began_ns = 0
        self.mark: Any = None
        self.hops: Any = None

    def start(self) -> None:
        """Records from here on."""
        self.began_ns = time.time_ns()
        self.profile.start_trace()
        self.hops = sys.modules.get("paceline.run.stamps")  # if the job uses our transport
        if self.hops is not None:
            self.hops.begin(self.folder / HOPS)

    def step(self, number: int | None) -> None:
        """Another step begins, in the words of torch.profiler; None: the last one is over."""
        if self.mark is not None:
            self.mark.__exit__(None, None, None)
        self.mark = None
        if number is not None:
            self.mark = torch("profiler").record_function(f"ProfilerStep#{number}")
            self.mark.__enter__()

    def stop(self) -> None:
        """Records no more."""
        if not self.began_ns:  # prepared only: torch wants a start before the end
            self.start()
        self.step(None)
        if self.hops is not None:
            self.hops.end()
        self.profile.stop_trace()

    def write(self) -> None:
        """Writes both files."""
        part = self.folder / f".{TIMELINE}.{os.getpid()}"
        raw = self.folder / f".timeline.{os.getpid()}.json"
        try:
            self.profile.export_chrome_trace(str(raw))
            if not _is_whole(raw):  # Kineto does not tell of a full disk
                raise OSError(28, "the timeline could not be written whole; is the disk full?")
            with raw.open("rb") as source, gzip.open(part, "wb", _FAST) as packed:
                shutil.copyfileobj(source, packed, 1 << 20)
            part.replace(self.folder / TIMELINE)
        finally:
            for left in (raw, raw.with_name(f"{raw.name}.tmp")):  # Kineto's own name meanwhile
                left.unlink(missing_ok=True)
            part.unlink(missing_ok=True)
        calls = flight(self.began_ns)
        if calls is not None:
            whole_file(self.folder / FLIGHT, calls)


def _is_whole(path: Path) -> bool:
    if not path.is_file() or path.stat().st_size < _TAIL:
        return False
    with path.open("rb") as file:
        file.seek(-_TAIL, os.SEEK_END)
        return file.read().rstrip().endswith(b"}")


def flight(since_ns: int) -> bytes | None:
    """What torch's flight recorder knows of calls since then, None if it knows none."""
    dump = getattr(torch("_C._distributed_c10d"), "_dump_fr_trace_json", None)
    if dump is None:
        return None
    told = msgspec.json.decode(dump(), type=dict[str, Any], strict=False)
    calls: list[dict[str, Any]] = told.get("entries") or []
    told["entries"] = [call for call in calls if call.get("time_created_ns", 0) >= since_ns]
    return msgspec.json.encode(told) if told["entries"] else None


def somebody_profiles() -> bool:
    """True if a profiler of torch is running in this process."""
    return bool(getattr(torch("autograd.profiler"), "_is_profiler_enabled", False))
