"""When each hop of the transport ran, written as a native trace while somebody asks for it.

`begin(path)` and `end()` are called by whoever records; in between, every bucket's issue, hops and
wait become events of that file. While nobody asks, stamping costs the look at one name. Rows are
kept as they come and become lines at the end, or when there are many; a worker that is killed
leaves what was written.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from paceline.model import RunError

ISSUE, WAIT, SEND, RECV = range(4)
_NAMES = ("issue", "wait", "reduce", "spread")
_KINDS = ("host", "host", "send", "recv")
_ROWS = 8192


class Stamp(NamedTuple):
    """One row; `where` is the thread of an issue or wait, and the peer of a hop."""

    kind: int
    start_ns: int
    end_ns: int
    where: int
    sequence: int
    bucket: int
    chunk: int
    round: int
    size_bytes: int
    adds: int


class Group(NamedTuple):
    """Whose hops these are: a name that is the same on all workers, and their ranks."""

    name: str
    ranks: tuple[int, ...]
    rank: int
    algorithm: str


class Stamps:
    """An open file of stamps; rows of any thread."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._rows: list[tuple[int, Stamp, Sequence[int]]] = []
        self._written = 0
        self._groups: list[Group] = []
        self._told = 0
        self.closed = False

    def group(self, group: Group) -> int:
        """The position of a group, new or known."""
        with self._lock:
            if group not in self._groups:
                self._groups.append(group)
            return self._groups.index(group)

    def add(self, group: int, stamp: Stamp, after: Sequence[int] = ()) -> int:
        """Adds a row that came after these; returns its index in the file."""
        with self._lock:
            if self.closed:
                return 0
            if len(self._rows) == _ROWS:
                self._flush()
            self._rows.append((group, stamp, after))
            return self._written + len(self._rows) - 1

    def close(self) -> None:
        """Writes the rest; rows that come later are dropped."""
        with self._lock:
            if not self.closed:
                self.closed = True
                self._flush()
                self._file.close()

    def _flush(self) -> None:
        new, self._told = self._groups[self._told :], len(self._groups)
        lines: list[dict[str, object]] = [
            {"group": one.name, "members": one.ranks, "worker": one.rank} for one in new
        ]
        lines += [_event(stamp, self._groups[at], after) for at, stamp, after in self._rows]
        self._file.write(msgspec.json.Encoder().encode_lines(lines))
        self._file.flush()
        self._written += len(self._rows)
        self._rows.clear()


def _event(stamp: Stamp, group: Group, after: Sequence[int]) -> dict[str, object]:
    event: dict[str, object] = {
        "worker": group.rank,
        "name": _NAMES[stamp.kind],
        "kind": _KINDS[stamp.kind],
        "phase": "backward",
        "start_ns": stamp.start_ns,
        "duration_ns": stamp.end_ns - stamp.start_ns,
        "bucket": stamp.bucket,
    }
    if stamp.kind in (SEND, RECV):
        way = "to" if stamp.kind == SEND else "from"
        event |= {
            "name": "reduce" if stamp.adds else "spread",
            "lane": f"{way} {stamp.where}",
            "peer": stamp.where,
            "group": group.name,
            "sequence": stamp.sequence,
            "chunk": stamp.chunk,
            "round": stamp.round,
            "size_bytes": stamp.size_bytes,
            "algorithm": group.algorithm,
        }
    else:
        event["lane"] = f"thread {stamp.where}"
    if after:
        event["after"] = [(group.rank, index) for index in after]
    return event


class _Now:
    """What is being written, if anything; module names cannot be set from afar."""

    stamps: Stamps | None = None


def current() -> Stamps | None:
    """The open file of stamps; None while nobody asks for them."""
    return _Now.stamps


def begin(path: Path) -> None:
    """From now on hops are stamped into this file, which holds what comes until `end`."""
    end()
    head = {"paceline_trace": 1, "source": "paceline transport"}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb")
        file.write(msgspec.json.Encoder().encode_lines([head]))
        file.flush()
    except OSError as error:
        raise RunError(
            f"cannot be written ({error.strerror}).", where=path, cure="Give another folder."
        ) from error
    _Now.stamps = Stamps(file)


def end() -> None:
    """Hops are stamped no longer, and the file is whole."""
    stamps, _Now.stamps = _Now.stamps, None
    if stamps is not None:
        stamps.close()
