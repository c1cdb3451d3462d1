"""Which receives read on where the one before left off: chunks of one bucket from one peer.

Such messages follow each other through one connection. Their sender does not wait until the
receiver comes back for the next one, as it would wait for a receiver that is not there at all.
"""

import numpy as np
import numpy.typing as npt

from paceline.model.graph import Graph
from paceline.model.trace import Kind


def reading_on(graph: Graph) -> npt.NDArray[np.bool_]:
    """By op: a receive whose lane held a receive of the same bucket and sender before it."""
    sender = np.full(len(graph.match_group) + 1, -1, dtype=np.int64)  # -1 finds the last
    sends = np.flatnonzero((graph.kind == Kind.SEND) & (graph.match >= 0))
    sender[graph.match[sends]] = graph.worker[sends]
    order = np.lexsort((graph.lane, graph.worker))  # stable: ids rise within a lane
    own, before = order[1:], order[:-1]
    columns = (graph.kind, graph.worker, graph.lane, graph.bucket, sender[graph.match])
    alike = np.logical_and.reduce([column[own] == column[before] for column in columns])
    hops = (graph.kind[own] == Kind.RECV) & (graph.bucket[own] >= 0) & (graph.match[own] >= 0)
    out = np.zeros(len(graph), dtype=np.bool_)
    out[own] = alike & hops & (graph.match[before] >= 0)
    return out
