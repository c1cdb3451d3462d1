"""How long a unit of cost takes at speed 1.0: one figure that all workers of a run share.

With `compute_ms` given, the median worker's step takes so long. Without, so long that the fastest
machine still has three times the CPU time that a step really needs, were all workers' steps to
share the real cores. Who knows all first writes it down; the others, and those who come back, read.
"""

import contextlib
import secrets
import statistics
import time
from pathlib import Path

import msgspec

from paceline.lab.lab_file import LabFile
from paceline.lab.progress import Progress
from paceline.model import RunError

NAME = "reference.json"
ROOM = 3.0  # times the CPU time that a step needs, on the fastest machine
LEAST_MS = 10.0
PATIENCE_S = 20.0
_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """`ns_per_cost` at speed 1.0, so that a step takes `compute_ms` there."""

    compute_ms: float
    ns_per_cost: float


def known(folder: Path) -> Reference | None:
    """The reference of this run, if somebody has written it."""
    with contextlib.suppress(FileNotFoundError):
        return msgspec.json.decode((folder / NAME).read_bytes(), type=Reference)
    return None


def agreed(folder: Path, lab: LabFile, progress: Progress, workers: int) -> Reference:
    """The reference of this run, once all who train have measured themselves."""
    patience = time.monotonic() + PATIENCE_S
    while (costs := progress.costs(workers)) is None:
        if (found := known(folder)) is not None:
            return found
        if time.monotonic() > patience:
            raise RunError(
                f"after {PATIENCE_S:.0f} s not all workers have taken their first steps.",
                expected="Compute is emulated by what a step of all workers costs.",
                cure="Look at the output of the others.",
            )
        time.sleep(0.001)
    _write(folder, reference(lab, *costs))
    found = known(folder)
    assert found is not None
    return found


def reference(lab: LabFile, costs: list[int], cpu_ns: list[int]) -> Reference:
    """What follows from the cost and the CPU time of each worker's step."""
    asked = lab.compute_ms
    if asked is None:
        fastest = max(machine.speed for machine in lab.machines)
        share = max(1.0, len(costs) / lab.cores)
        asked = rounded(max(LEAST_MS, ROOM * share * statistics.median(cpu_ns) / 1e6 * fastest))
    return Reference(compute_ms=asked, ns_per_cost=asked * 1e6 / statistics.median(costs))


def rounded(ms: float) -> float:
    """The next round figure, so that two runs of one job mostly agree."""
    scale = 10.0
    while ms > scale * 10:
        scale *= 10
    return next(scale * step for step in _ROUND if ms <= scale * step * (1 + 1e-9))


def _write(folder: Path, found: Reference) -> None:
    """Writes it unless somebody was faster; nobody sees half of it."""
    part = folder / f".{NAME}.{secrets.token_hex(4)}.part"
    part.write_bytes(msgspec.json.encode(found))
    with contextlib.suppress(FileExistsError):
        (folder / NAME).hardlink_to(part)
    part.unlink()
