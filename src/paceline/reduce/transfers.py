"""A collective as messages between its members, whatever its size: who sends which share to whom.

Members are positions. A transfer may feed others: what its receiver passes on. It is passed on
whole (the receiver has all of it before it sends), or `streamed`: the next one begins when the
first byte has come, and cannot end before the last has. Transfers of one slot of a member follow
one another, those of different slots run side by side. Of an all-reduce they say which `units` of
the buffer they carry, and whether the receiver adds these to its own or takes them instead.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from paceline.model import F64, I32, I64, chained


class Transfers(NamedTuple):
    """Columns by transfer; `after` is ragged. `latencies` are those beyond the message's own.

    The buffer is cut into `units` equal parts, of which a transfer carries those from `first` up to
    `last`; none where it stands for several messages, or for a collective that sums nothing. Those
    that are `cut` (all streamed ones, and the rounds of rings) are carried out in chunks, each
    passed on when it is there; what that hides of latencies is left out of the simulation.
    """

    source: I32
    target: I32
    share: F64
    latencies: I32
    out: I32
    into: I32
    streamed: I32
    after_from: I64
    after: I32
    units: int
    first: I32
    last: I32
    adds: I32
    cut: I32


_Row = tuple[int, int, float, int, int, int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Draft:
    """Transfers as they are thought out."""

    units: int = 1
    rows: list[_Row] = field(default_factory=list[_Row])
    after: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    def add(
        self,
        source: int,
        target: int,
        share: float,
        *,
        after: tuple[int, ...] = (),
        out: int = 0,
        into: int = 0,
        latencies: int = 0,
        streamed: bool = False,
        units: tuple[int, int] = (0, 0),
        adds: bool = False,
        cut: bool = False,
    ) -> int:
        """Adds a transfer that passes on what the transfers `after` brought; returns its number."""
        flags = int(adds), int(cut or streamed)
        self.rows.append(
            (source, target, share, latencies, out, into, int(streamed), *units, *flags)
        )
        self.after.append(after)
        return len(self.rows) - 1

    def done(self) -> Transfers:
        """The finished columns."""
        columns = list(zip(*self.rows, strict=True)) or [()] * 11
        source, target, share, latencies, out, into, streamed, first, last, adds, cut = columns
        return Transfers(
            source=np.array(source, dtype=np.int32),
            target=np.array(target, dtype=np.int32),
            share=np.array(share, dtype=np.float64),
            latencies=np.array(latencies, dtype=np.int32),
            out=np.array(out, dtype=np.int32),
            into=np.array(into, dtype=np.int32),
            streamed=np.array(streamed, dtype=np.int32),
            after_from=chained([len(after) for after in self.after]),
            after=np.array([one for after in self.after for one in after], dtype=np.int32),
            units=self.units,
            first=np.array(first, dtype=np.int32),
            last=np.array(last, dtype=np.int32),
            adds=np.array(adds, dtype=np.int32),
            cut=np.array(cut, dtype=np.int32),
        )
