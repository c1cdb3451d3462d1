"""What a worker says of itself once: machine, device, memory, backend, groups."""

import os
import re
import socket
from pathlib import Path
from typing import Any

from paceline.run.lazy_torch import torch

MACHINE = "PACELINE_MACHINE"
_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def facts(workers: int, *, cuda: bool) -> dict[str, object]:
    """The facts of this worker, as far as they are known at the start."""
    backend = str(torch("distributed").get_backend())
    found: dict[str, object] = {
        "machine": os.environ.get(MACHINE) or socket.gethostname(),
        "device": "cuda" if cuda else "cpu",
        "backend": backend,
        "workers": workers,
    }
    if cuda:
        cards = torch("cuda")
        used = cards.get_device_properties(cards.current_device())
        found["device_memory_bytes"] = int(used.total_memory)
    else:
        found["device_memory_bytes"] = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return found


def on_cuda() -> bool:
    """True if this worker computes on CUDA, as far as its backend tells."""
    nccl = "nccl" in str(torch("distributed").get_backend())
    return nccl and bool(torch("cuda").is_available())


def peak_bytes(*, cuda: bool) -> int | None:
    """The most memory that was in use so far: of the device, on a CPU of the process."""
    if cuda:
        return int(torch("cuda").max_memory_allocated())
    try:
        found = _PEAK.search(Path("/proc/self/status").read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[1]) * 1024 if found else None


def group(given: Any) -> tuple[str, list[int]]:
    """Name and members of a process group; None is the group of all workers."""
    dist = torch("distributed")
    one: Any = given if given is not None else dist.group.WORLD
    return str(one.group_name), [int(rank) for rank in dist.get_process_group_ranks(one)]
