"""Which workers read one and the same clock: processes of one machine that name the same clock.

What a trace says of its machine is believed unless the recorded ends contradict it: a worker whose
clock differs from that of its neighbors by more than its error bar keeps a clock of its own.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paceline.model import I64, Trace
from paceline.stitch.align_fit import Fitted
from paceline.stitch.align_units import Units


def shared(traces: Sequence[Trace], units: Units, fit: Fitted) -> I64:
    """The unit of each trace, when workers of one machine share one; the first trace's is 0."""
    clocks: dict[tuple[str, str], list[int]] = {}
    for index, trace in enumerate(traces):
        if trace.facts.machine is not None and trace.clock is not None:
            clocks.setdefault((trace.facts.machine, trace.clock), []).append(index)
    leader = np.arange(len(traces))
    for members in clocks.values():
        own = np.array(members, dtype=np.int64)
        same = own[_agree(own, units, fit)]
        leader[same] = same[0]
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


def _agree(own: I64, units: Units, fit: Fitted) -> npt.NDArray[np.bool_]:
    """Members whose clocks agree with the middle one of them, or the first worker's."""
    unit = units.of_trace[own]
    tied = units.component[unit] == 0
    base = int(units.offset_ns[unit[0]])
    offset = (units.offset_ns[unit] - base).astype(np.float64)
    bar = fit.bar_ns[unit]
    agree = np.ones(len(own), dtype=np.bool_)
    for part in (-0.5, 0.5):  # at both ends of what was observed
        shift = offset + fit.known.p[unit] + part * fit.known.q[unit]
        middle = 0 if own[0] == 0 else int(np.argsort(shift)[len(own) // 2])
        agree &= np.abs(shift - shift[middle]) <= bar + (bar[middle] if middle else 0.0)
    return agree | ~tied
