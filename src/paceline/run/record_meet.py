"""Where recorders of one job find each other: through the store that the job itself met at.

Every wait is bounded. A worker that records nothing, or never starts, is missing in what comes
out, and holds up nobody for longer than a few seconds.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec

from paceline.run.lazy_torch import torch
from paceline.run.record_clock import Answers, Asker, Ping, own_address

_PATIENCE_S = 5.0
_LEAVING_S = 3.0


class Meeting:
    """The other recorders of the job, as far as they answer."""

    def __init__(self, rank: int, size: int, facts: Mapping[str, object]) -> None:
        self.rank, self.size = rank, size
        self.store: Any = torch("distributed.distributed_c10d")._get_default_store()
        self.until = time.monotonic() + _PATIENCE_S
        self.answers = Answers(own_address())
        self.askers: list[Asker] = []
        address, port = self.answers.address
        own = {**facts, "address": address, "port": port, "secret": self.answers.secret.hex()}
        self.store.set(_key(rank), msgspec.json.encode(own).decode())

    def connect(self) -> None:
        """Opens a line to worker 0 and to the worker before this one."""
        for peer in sorted({0, (self.rank - 1) % self.size} - {self.rank}):
            told = self._told((peer,)).get(peer)
            if told is not None:
                secret = bytes.fromhex(str(told["secret"]))
                with suppress(OSError):
                    self.askers.append(Asker(peer, (str(told["address"]), told["port"]), secret))

    def everyone(self) -> dict[int, dict[str, Any]]:
        """What each worker says of itself, for those that record."""
        return self._told(range(self.size))

    def pings(self) -> list[tuple[int, Ping]]:
        """Fresh clock exchanges; a peer that does not answer any more is not asked again."""
        found: list[tuple[int, Ping]] = []
        for asker in tuple(self.askers):
            try:
                found += [(asker.peer, ping) for ping in asker.pings()]
            except OSError:
                asker.close()
                self.askers.remove(asker)
        return found

    def close(self) -> None:
        """Leaves, once those who ask this worker have asked for the last time, or soon."""
        for asker in self.askers:
            asker.close()
        self.askers = []
        self.answers.close(_LEAVING_S)

    def _told(self, ranks: Sequence[int]) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for rank in ranks:
            left = max(self.until - time.monotonic(), 0.001)
            with suppress(RuntimeError):  # torch's DistStoreError: nobody has said it in time
                self.store.wait([_key(rank)], timedelta(seconds=left))
                told = msgspec.json.decode(self.store.get(_key(rank)), type=dict[str, Any])
                found[rank] = told
        return found


def _key(rank: int) -> str:
    return f"paceline/recorder/{rank}"
