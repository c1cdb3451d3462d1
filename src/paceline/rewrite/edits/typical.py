"""Lets ops take what their peers take: the median of the same work on all other workers and steps.

Durations and leads alike. Work that nobody was measured at (a fused bucket, say) stays as it is.
"""

import numpy as np

from paceline.model import I64, KINDS, Edit
from paceline.rewrite.key import Key, Takes
from paceline.rewrite.peers import Samples, samples, typical
from paceline.rewrite.select import selected
from paceline.rewrite.state import State, whole_ns

NAME: str = "typical"
KEYS: tuple[Key, ...] = (
    Key(name="worker", takes=Takes.WORKER, says="only the ops of this worker"),
    Key(name="kind", takes=Takes.WORD, says="only ops of this kind", one_of=tuple(KINDS)),
    Key(name="layer", takes=Takes.WORD, says="only ops of this layer and of layers inside it"),
)
SAYS: str = "Lets every op, or the chosen ones, take the median time of its peers."


def apply(state: State, edit: Edit) -> State:
    """The state whose chosen ops take the median of their peers."""
    mask = selected(state.graph, edit)
    ops = np.flatnonzero(mask)
    work, worker = state.graph.work[ops].astype(np.int64), state.graph.worker[ops]
    key, back = np.unique(work << 32 | worker, return_inverse=True)
    durations, leads = samples(state, mask)

    def changed(now: I64, found: Samples) -> I64:
        median = typical(found, key)[back]
        known = ~np.isnan(median)
        out = now.copy()
        out[ops[known]] = whole_ns(median[known], edit)
        return out

    return state.timed(
        duration_ns=changed(state.times.duration_ns, durations),
        lead_ns=changed(state.times.lead_ns, leads),
    )
