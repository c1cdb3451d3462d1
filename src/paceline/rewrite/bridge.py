"""Dependencies with some ops cut out: who waited for one of those waits for what it waited for.

Chains of such ops are followed by doubling, and of several ops on one lane only the last is kept,
since a lane runs in order; so the lists stay as short as a worker has lanes.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, Graph, ModelError
from paceline.rewrite.ragged import gathered, ragged, rows_of
from paceline.rewrite.state import awaits_nothing, devices, talks

Pairs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def leads_once_free(before: Graph, graph: Graph, lead_ns: I64) -> I64:
    """Leads when communication hesitates no more; nothing begins before the step did.

    What waits for nothing any more would else begin at 0, and the step would seem longer.
    """
    talk, now, then = talks(graph), awaits_nothing(graph), awaits_nothing(before)
    begin = lead_ns[then].min(initial=np.iinfo(np.int64).max) if len(before) else 0
    return np.where(talk, 0, lead_ns) + np.where(now & (talk | ~then), begin, 0)


def free_of_talk(graph: Graph, also: Pairs | None = None) -> tuple[I64, I32]:
    """The dependencies of all ops when none waits for communication, directly or through it.

    `also` are more pairs (op, what it waits for), for what a lane has in order.
    """
    rows = rows_of(graph.after_from)
    targets = graph.after_op.astype(np.int64)
    if also is not None:
        rows, targets = np.concatenate([rows, also[0]]), np.concatenate([targets, also[1]])
    talk = talks(graph)
    far = (talk[rows] | talk[targets]) & (graph.worker[rows] != graph.worker[targets])
    return ragged(*_bridged(graph, (rows[~far], targets[~far]), talk), len(graph))


def _bridged(graph: Graph, pairs: Pairs, gone: npt.NDArray[np.bool_]) -> Pairs:
    rows, targets = pairs
    for _ in range(2 + len(graph).bit_length()):
        hit = gone[targets]
        if not hit.any():
            return rows, targets
        of_gone = gone[rows]
        reached, beyond = gathered(
            *ragged(rows[of_gone], targets[of_gone], len(graph)), targets[hit]
        )
        behind = np.repeat(rows[hit], np.diff(reached))
        rows, targets = _last_on_lane(
            graph,
            (np.append(rows[~hit], behind), np.append(targets[~hit], beyond.astype(np.int64))),
            gone,
        )
    raise ModelError("an op waits for itself.", expected="Dependencies have no cycle.")


def _last_on_lane(graph: Graph, pairs: Pairs, gone: npt.NDArray[np.bool_]) -> Pairs:
    """Of the ops that one op waits for, the last on each lane; those to be cut out stay all."""
    rows, targets = pairs
    place = np.where(gone, -1 - np.arange(len(gone)), devices(graph))[targets]
    order = np.lexsort((targets, place, rows))
    rows, targets, place = rows[order], targets[order], place[order]
    last = np.ones(len(rows), dtype=bool)
    last[:-1] = (rows[1:] != rows[:-1]) | (place[1:] != place[:-1])
    return rows[last], targets[last]
