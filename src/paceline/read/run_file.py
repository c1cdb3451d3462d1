"""What run.json, the cover sheet of a RUN folder, says of the workers and of their clocks.

`{"schema": 1, "workers": [{"rank": 0, "folder": "worker_0", "machine": "m0"}], "pings":
[{"worker": 1, "peer": 0, "sent_ns": 5, "peer_ns": 6, "received_ns": 7}]}`; other keys are for
people. Every field is optional but the rank of a worker.
"""

from pathlib import Path

import msgspec

from paceline.model import InputError, Ping
from paceline.read.opened import Caps, Opened

NAME = "run.json"
SCHEMA = 1
LARGEST = 256 * 2**20


class RunWorker(msgspec.Struct, frozen=True, kw_only=True):
    """One worker of the run; `folder` is relative to the RUN folder."""

    rank: int
    folder: str | None = None
    machine: str | None = None
    device: str | None = None


class RunPing(msgspec.Struct, frozen=True, kw_only=True):
    """A clock exchange of `worker` with `peer`."""

    worker: int
    peer: int
    sent_ns: int
    peer_ns: int
    received_ns: int


class RunFile(msgspec.Struct, frozen=True, kw_only=True):
    """The cover sheet; without one, nothing is known."""

    schema: int = SCHEMA
    workers: tuple[RunWorker, ...] = ()
    pings: tuple[RunPing, ...] = ()

    def worker_of(self, path: Path, root: Path) -> RunWorker | None:
        """The worker in whose folder the file lies."""
        for worker in self.workers:
            if worker.folder and path.is_relative_to(root / worker.folder):
                return worker
        return None

    def worker(self, rank: int) -> RunWorker | None:
        """What the cover sheet says of a rank."""
        return next((worker for worker in self.workers if worker.rank == rank), None)

    def pings_of(self, rank: int) -> tuple[Ping, ...]:
        """The clock exchanges of a worker."""
        return tuple(
            Ping(peer=p.peer, sent_ns=p.sent_ns, peer_ns=p.peer_ns, received_ns=p.received_ns)
            for p in self.pings
            if p.worker == rank
        )


def run_file(folder: Path, caps: Caps) -> RunFile:
    """The cover sheet of a folder; an empty one where there is none."""
    path = folder / NAME
    if not path.is_file():
        return RunFile()
    data = Opened(path, caps).whole(LARGEST)
    try:
        loaded = msgspec.json.decode(data, type=RunFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"is not the cover sheet of a run ({error}).",
            where=path,
            cure="Remove it to read the traces without it, or record again.",
        ) from error
    if loaded.schema != SCHEMA:
        raise InputError(
            f"has schema {loaded.schema}.",
            where=path,
            expected=f"This paceline reads schema {SCHEMA}.",
            cure="Use the version that wrote it, or record again.",
        )
    return loaded
