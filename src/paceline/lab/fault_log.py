"""faults.jsonl: what of the schedule happened, when and to whom, one line at a time.

Workers and the driver append to it; a line is one write, so lines never mix, and all are there when
the writer is killed right after.
"""

import os
import time
from pathlib import Path

import msgspec

from paceline.model import Fault

NAME = "faults.jsonl"


class Happened(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fault began or ended; `failed` says why it could not."""

    unix_ns: int
    step: int
    fault: str
    what: str  # "begins" or "ends"
    worker: int | None = None
    failed: str | None = None


def happened(
    folder: Path,
    fault: Fault,
    what: str,
    *,
    step: int,
    worker: int | None = None,
    failed: str | None = None,
) -> None:
    """Appends one line."""
    line = Happened(
        unix_ns=time.time_ns(), step=step, fault=str(fault), what=what, worker=worker,
        failed=failed,
    )  # fmt: skip
    file = os.open(folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, msgspec.json.encode(line) + b"\n")
    finally:
        os.close(file)


def read_log(folder: Path) -> list[Happened]:
    """All that happened so far; a line that is not whole yet is left out."""
    path = folder / NAME
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [msgspec.json.decode(line, type=Happened) for line in lines]
