"""What workers tell each other beside the buckets: machines, which plan, and who failed first.

All through the store of torch.distributed, in plain text.
"""

import contextlib
import hashlib
import os
import socket
import threading
import time
from collections.abc import Sequence

from paceline.model import RunError
from paceline.run.peers import Store, told

_PATIENCE_S = 1.0


def machines(store: Store, me: int, workers: int, deadline: float) -> tuple[str, ...]:
    """The machine of each worker; under torchrun one agent stands for one machine."""
    own = f"{socket.gethostname()} {os.environ.get('GROUP_RANK', '')}"
    store.set(f"machine {me}", own)
    return tuple(
        told(store, f"machine {worker}", deadline, worker).decode() for worker in range(workers)
    )


def agreed(store: Store, me: int, text: str, ranks: Sequence[int], deadline: float) -> None:
    """Nothing, if all workers follow the same plan as the first; else RunError."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    if me == 0:
        store.set("plan", digest)
    elif told(store, "plan", deadline, ranks[0]).decode() != digest:
        raise RunError(
            f"worker {ranks[me]} follows another plan than worker {ranks[0]}.",
            expected="All workers call paceline.ddp with the same arguments.",
            cure="Give every worker the same plan file, and the same version of paceline.",
        )


class FirstError:
    """The error that came first among all workers: the others only lost who met it."""

    def __init__(self, store: Store, rank: int) -> None:
        self.store = store
        self.rank = rank

    def among(self, text: str) -> str:
        """What another worker said before, if one did; the store may be gone, so not for long."""
        said: list[str] = []

        def ask() -> None:
            with contextlib.suppress(RuntimeError):
                own = f"worker {self.rank}: {text}"
                first = self.store.compare_set("first error", "", own).decode(errors="replace")
                said.append("" if first == own else first)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(_PATIENCE_S)
        return said[0] if said else ""


def seconds_left(deadline: float) -> float:
    """How long may still be waited, never nothing."""
    return max(deadline - time.monotonic(), 0.001)
