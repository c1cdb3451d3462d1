"""Carries dependencies between ops over to the workers that do the same.

What one worker's steps show may be hidden in another's, where nobody happened to wait. Peers do the
same works, so a dependency found on one holds for all whose times do not speak against it; else one
work would have two meanings, and its spread of leads would mix them.
"""

import numpy as np

from paceline.model import I64, Graph
from paceline.stitch.cases import MOSTLY, NEARLY_ALL, STILL_NS, Seen


def on_peers(graph: Graph, seen: Seen, pairs: tuple[I64, I64], moment_ns: I64) -> tuple[I64, I64]:
    """The pairs (op, op that it is after), and those of the same two works on other workers.

    A pair holds if the moment of the first op nearly never precedes the end of the second. Where
    that is communication, it may in some steps: its thread may be stopped before it stamps its end.
    """
    owner, target = pairs
    work = graph.work.astype(np.int64)
    count = len(graph.works)
    own_work, its_work = np.divmod(np.unique(work[owner] * count + work[target]), count)
    a, b = _placed(graph, own_work), _placed(graph, its_work)
    both = (a >= 0) & (b >= 0)
    a, b = a[both], b[both]
    known = seen.known[a] & seen.known[b]
    held = known & (moment_ns[a] >= seen.end_ns[b] - STILL_NS)
    share = np.where(seen.talks[b], MOSTLY, NEARLY_ALL)
    sure = (held.sum(axis=1) >= share * known.sum(axis=1)) & known.any(axis=1)
    together = np.unique(np.stack([np.append(owner, a[sure]), np.append(target, b[sure])]), axis=1)
    return together[0], together[1]


def _placed(graph: Graph, works: I64) -> I64:
    """The op of each work on each worker in turn, or -1; a worker does a work once."""
    ranks, worker = np.unique(graph.worker, return_inverse=True)
    key = graph.work.astype(np.int64) * len(ranks) + worker
    order = np.argsort(key)
    wanted = np.repeat(works * len(ranks), len(ranks)) + np.tile(np.arange(len(ranks)), len(works))
    place = order[np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)]
    return np.where(key[place] == wanted, place, -1)
