"""Which workers are peers, and which work is a worker's alone.

Workers that share half of their works or more are peers (replicas of one stage, say). Work that
most peers of a worker do not have at all takes them no time: it is extra, not incomparable.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import Graph

SHARED = 0.5


def extra(graph: Graph) -> npt.NDArray[np.bool_]:
    """Ops whose work most of their worker's peers do not have."""
    ranks = np.array(sorted(graph.workers), dtype=np.int64)
    row = np.searchsorted(ranks, graph.worker)
    has = np.zeros((len(ranks), len(graph.works)), dtype=bool)
    has[row, graph.work] = True
    team = _teams(has)
    alone = np.zeros(len(graph), dtype=bool)
    for one in np.unique(team):
        members = has[team == one]
        if len(members) < 2:
            continue
        others = members.sum(axis=0) - 1
        rare = others < (len(members) - 1) / 2
        mine = team[row] == one
        alone[mine] = rare[graph.work[mine]]
    return alone


def _teams(has: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """For each worker the number of its team; the first of a team stands for it."""
    team = np.zeros(len(has), dtype=np.int64)
    firsts: list[int] = []
    for row, works in enumerate(has):
        for number, first in enumerate(firsts):
            both = int((works & has[first]).sum())
            if both >= SHARED * max(int(works.sum()), int(has[first].sum()), 1):
                team[row] = number
                break
        else:
            team[row] = len(firsts)
            firsts.append(row)
    return team
