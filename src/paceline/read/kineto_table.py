"""The finished columns of a Kineto file, and where each class of rows stands among them."""

from dataclasses import dataclass

import numpy as np

from paceline.model import I32, I64, U8
from paceline.read.kineto_names import Cat
from paceline.read.kineto_rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All rows in file order; `ops`, `calls` and `device` are the rows of their classes.

    `external`, `record` and `sequence` go with `ops`, `called` with `calls`, `launched`, `origin`
    and `size_bytes` with `device`. `unfinished` are rows that were still going on at the end.
    """

    cat: U8
    role: U8
    name: I32
    thread: I32
    start: I64
    duration: I64
    ops: I64
    external: I64
    record: I64
    sequence: I64
    calls: I64
    called: I64
    device: I64
    launched: I64
    origin: I64
    size_bytes: I64
    unfinished: I64
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.cat)

    def end(self, rows: I64) -> I64:
        """When the given rows end."""
        return self.start[rows] + self.duration[rows]


def table(rows: Rows, base_ns: int) -> Table:
    """The table of the rows, which give up their columns; all their times move by `base_ns`."""
    columns = {name: rows.column(name) for name in rows.columns}
    cat = columns["cat"]
    columns["start"] += base_ns
    rows.flows = [flow._replace(start_ns=flow.start_ns + base_ns) for flow in rows.flows]
    rows.syncs = [sync._replace(start_ns=sync.start_ns + base_ns) for sync in rows.syncs]
    return Table(
        **columns,
        ops=np.flatnonzero((cat == Cat.OP) | (cat == Cat.MARK)),
        calls=np.flatnonzero(cat == Cat.RUNTIME),
        device=np.flatnonzero(cat >= Cat.KERNEL),
        names=tuple(rows.keys.names),
    )
