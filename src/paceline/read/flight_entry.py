"""One call of a flight recorder's dump as a typed record, and what it means.

Versions 1 and 2 of the dump differ in the name of the sequence and of the group; gloo's entries
lack what only the NCCL watchdog finds out.
"""

import math
import re

import msgspec

from paceline.model import UNKNOWN, Kind
from paceline.read.kineto_names import bytes_of, collective

_MOST = 2**62
_MOST_DIMS = 64  # as in PyTorch
_ARROW = re.compile(r"\s(\d{1,7})\s*(?:->|<-)\s*(\d{1,7})$", re.ASCII)
# entries that stand for bookkeeping: the calls of a coalesced one have entries of their own
SKIPPED = frozenset({"coalesced", "split", "new_window"})


class PgConfig(msgspec.Struct):
    """A process group; `ranks` is a text such as `[0, 1]`."""

    ranks: str | list[int] | None = None


class Entry(msgspec.Struct):
    """One call, as far as it is used here."""

    profiling_name: str
    time_created_ns: int | None = None
    collective_seq_id: int | None = None
    p2p_seq_id: int | None = None
    seq_id: int | None = None
    is_p2p: bool | None = None
    process_group: list[str] | None = None
    pg_id: int | None = None
    input_sizes: list[list[int]] | None = None
    input_dtypes: list[str] | None = None
    output_sizes: list[list[int]] | None = None
    output_dtypes: list[str] | None = None
    state: str = ""
    retired: bool = False
    time_discovered_completed_ns: int | None = None
    duration_ms: float | None = None

    def group(self) -> str | None:
        """The name of the process group."""
        if self.process_group:
            return self.process_group[0]
        return None if self.pg_id is None else str(self.pg_id)

    def is_default(self) -> bool:
        """True if the group holds every worker, in order of rank."""
        return self.process_group is not None and "default_pg" in self.process_group[1:]

    def backend(self) -> str | None:
        """`nccl`, `gloo`, ..."""
        return self.profiling_name.partition(":")[0] if ":" in self.profiling_name else None

    def word(self) -> str:
        """What the call does, in the words of all readers."""
        return collective(self.profiling_name)

    def kind(self) -> Kind:
        """SEND, RECV or COLLECTIVE."""
        return {"send": Kind.SEND, "recv": Kind.RECV}.get(self.word(), Kind.COLLECTIVE)

    def sequence(self) -> int:
        """The number of the call in its group, -1 if unknown."""
        message = self.kind() is not Kind.COLLECTIVE if self.is_p2p is None else self.is_p2p
        own = self.p2p_seq_id if message else self.collective_seq_id
        own = self.seq_id if own is None else own
        return -1 if own is None or not 0 <= own < _MOST else own

    def other(self) -> int:
        """The position in the group of the other end of a message, -1 if unknown."""
        found = _ARROW.search(self.profiling_name)
        return int(found[2]) if found else -1

    def size_bytes(self) -> int:
        """What this worker puts in; of a receive, what it gets; -1 if unknown."""
        if self.kind() is Kind.RECV and self.output_sizes:
            return _bytes(self.output_sizes, self.output_dtypes)
        return _bytes(self.input_sizes, self.input_dtypes)

    def start_ns(self) -> int:
        """When the call was made."""
        made = self.time_created_ns
        return made if made is not None and 0 < made < _MOST else UNKNOWN

    def duration_ns(self) -> int:
        """The time on the device, or until the end was noticed, or UNKNOWN."""
        if self.start_ns() == UNKNOWN:
            return UNKNOWN
        if self.duration_ms is not None and 0 <= self.duration_ms < 1e12:
            return round(self.duration_ms * 1e6)
        ended = self.time_discovered_completed_ns or 0
        return ended - self.start_ns() if self.start_ns() <= ended < _MOST else UNKNOWN

    def noticed(self) -> bool:
        """True if the end is only known from when the watchdog noticed it."""
        return self.duration_ms is None and self.duration_ns() != UNKNOWN

    def unfinished(self) -> bool:
        """True if the call had not ended; gloo leaves ended ones `scheduled` but retires them."""
        return not self.retired and self.state in ("scheduled", "started")


def _bytes(sizes: list[list[int]] | None, dtypes: list[str] | None) -> int:
    if not sizes or not dtypes or len(sizes) != len(dtypes):
        return -1
    each = [bytes_of(dtype) for dtype in dtypes]
    if None in each or any(len(shape) > _MOST_DIMS or min(shape, default=0) < 0 for shape in sizes):
        return -1
    total = 0
    for shape, size in zip(sizes, each, strict=True):
        total += math.prod(shape) * (size or 0)
    return total if total < _MOST else -1
