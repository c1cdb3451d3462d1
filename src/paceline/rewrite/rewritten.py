"""What comes out of a row of edits: a graph with times, and the way back to the user's own ops."""

from dataclasses import dataclass

import numpy as np

from paceline.model import I32, I64, Cluster, Graph, Note, Times
from paceline.rewrite.ragged import led_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The edited job. `machines` says where each rank is, `notes` what the edits had to assume.

    Op i stands for the ops `origin_op[origin_from[i]:origin_from[i + 1]]` of the graph that came
    in: one for most, several for what was fused, none for what an edit invented.
    """

    graph: Graph
    times: Times
    cluster: Cluster | None
    machines: dict[int, str]
    origin_from: I64
    origin_op: I32
    notes: tuple[Note, ...] = ()

    @property
    def origin(self) -> I32:
        """For each op the first op that it stands for, -1 for none."""
        out = np.full(len(self.graph), -1, dtype=np.int32)
        some = np.diff(self.origin_from) > 0
        out[some] = self.origin_op[self.origin_from[:-1][some]]
        return out

    def origins(self, op: int) -> tuple[int, ...]:
        """All ops of the graph that came in that this op stands for."""
        first, last = self.origin_from[op], self.origin_from[op + 1]
        return tuple(int(origin) for origin in self.origin_op[first:last])

    def behind(self, earlier: "Rewritten") -> "Rewritten":
        """The same rewriting with its origins led back through the one that made its graph."""
        starts, flat = led_back(
            self.origin_from, self.origin_op, earlier.origin_from, earlier.origin_op
        )
        return Rewritten(
            graph=self.graph,
            times=self.times,
            cluster=self.cluster,
            machines=self.machines,
            origin_from=starts,
            origin_op=flat,
            notes=(*earlier.notes, *self.notes),
        )
