"""What was launched onto each stream of a device, in order.

A stream works in order, so whoever waits for a stream waits for the last thing on it. `issued` is
the latest launch of all things on a stream up to here; asking by that, and not by a thing's own
launch, keeps dependencies free of cycles even where clocks or threads disagree.
"""

import numpy as np

from paceline.model import I64
from paceline.read.kineto_join import matching
from paceline.read.kineto_table import Table


def launches(table: Table) -> I64:
    """For each device row the row of its launch, -1 where it is not known.

    Without runtime calls the operator with the same external id stands for the launch.
    """
    if len(table.calls):
        at = matching(table.called, table.launched)
        return np.where(at >= 0, table.calls[at], -1)
    at = matching(table.external, table.origin)
    return np.where(at >= 0, table.ops[at], -1) if len(table.ops) else at


class Queues:
    """The streams of all devices."""

    def __init__(self, table: Table, launch: I64) -> None:
        own = table.start[table.device]
        issued = np.where(launch >= 0, table.start[launch], own) if len(table) else own
        thread = table.thread[table.device]
        order = np.lexsort((own, thread))
        self.rows = table.device[order]
        self.issued = issued[order]
        heads = np.flatnonzero(np.diff(thread[order], prepend=-1))
        self._slices: dict[int, tuple[int, int]] = {}
        for head, stop in zip(heads.tolist(), [*heads.tolist()[1:], len(order)], strict=True):
            np.maximum.accumulate(self.issued[head:stop], out=self.issued[head:stop])
            self._slices[int(thread[order[head]])] = (head, stop)
        # launched after everything that stands before it on its stream
        self.in_order = np.empty(len(order), dtype=np.bool_)
        self.in_order[order] = self.issued == issued[order]

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams (as threads) that did anything."""
        return tuple(self._slices)

    def last(self, stream: int, before: int) -> int:
        """The last row of the stream up to which all was launched before; -1 if none."""
        head, stop = self._slices.get(stream, (0, 0))
        at = head + int(np.searchsorted(self.issued[head:stop], before, side="left")) - 1
        return int(self.rows[at]) if at >= head else -1

    def first(self, stream: int, since: int) -> int:
        """The first row of the stream launched at `since` or later; -1 if none."""
        head, stop = self._slices.get(stream, (0, 0))
        at = head + int(np.searchsorted(self.issued[head:stop], since, side="left"))
        return int(self.rows[at]) if at < stop else -1
