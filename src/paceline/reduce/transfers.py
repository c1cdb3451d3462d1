"""A collective as messages between its members, whatever its size: who sends which share to whom.

Members are positions. A transfer may feed others: what its receiver passes on. It is passed on
whole (the receiver has all of it before it sends), or `streamed`: the next one begins when the
first byte has come, and cannot end before the last has. Transfers of one slot of a member follow
one another, those of different slots run side by side.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from paceline.model import F64, I32, I64, chained


class Transfers(NamedTuple):
    """Columns by transfer; `after` is ragged. `latencies` are those beyond the message's own."""

    source: I32
    target: I32
    share: F64
    latencies: I32
    out: I32
    into: I32
    streamed: I32
    after_from: I64
    after: I32


@dataclass(frozen=True, slots=True)
class Draft:
    """Transfers as they are thought out."""

    rows: list[tuple[int, int, float, int, int, int, int]] = field(
        default_factory=list[tuple[int, int, float, int, int, int, int]]
    )
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
    ) -> int:
        """Adds a transfer that passes on what the transfers `after` brought; returns its number."""
        self.rows.append((source, target, share, latencies, out, into, int(streamed)))
        self.after.append(after)
        return len(self.rows) - 1

    def done(self) -> Transfers:
        """The finished columns."""
        columns = list(zip(*self.rows, strict=True)) or [()] * 7
        source, target, share, latencies, out, into, streamed = columns
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
        )
