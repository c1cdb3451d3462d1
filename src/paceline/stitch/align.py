"""Maps the clocks of all workers onto the first one's: offset and drift, each with its error.

Aligned = raw * (1 + drift) + offset. Ends of one collective coincide, nothing is received before it
was sent, no collective ends before its last member came (after dPRO, arXiv 2205.02473, which knows
one constant a machine). Data that contradict themselves are reported, never an obstacle.
"""

from collections.abc import Sequence

import numpy as np

from paceline.model import I64, Alignment, Note, Trace, show_ns
from paceline.stitch.align_feasible import Evidence
from paceline.stitch.align_fit import Fitted, fitted
from paceline.stitch.align_jumps import Jump
from paceline.stitch.align_one_clock import shared
from paceline.stitch.align_ties import Meets, Orders, meets, orders
from paceline.stitch.align_units import Units, first_events, placed
from paceline.stitch.alignments import Alignments, Lost
from paceline.stitch.matches import Matches

_ENDLESS = 2**62


def clocks(traces: Sequence[Trace], matches: Matches) -> Alignments:
    """How each worker's clock maps onto the first worker's, whose own is 0 and 0 exactly."""
    if not traces:
        return Alignments(alignments=(), residual_ns=None)
    first_ns = first_events(traces)
    ends, order = meets(traces, matches), orders(traces, matches)
    units, fit = _fit(np.arange(len(traces)), first_ns, ends, order)
    of_trace = shared(traces, units, fit)
    bars = fit.bar_ns
    if int(of_trace.max()) + 1 < len(traces):
        units, fit = _fit(of_trace, first_ns, ends, order)
        # a worker on the first one's clock keeps the error that its own ends have shown
        bars = np.where((of_trace == 0) & np.isfinite(bars), bars, fit.bar_ns[of_trace])
    found = tuple(
        _alignment(trace, index, (units, fit), float(bars[index]), int(first_ns[index]))
        for index, trace in enumerate(traces)
    )
    return Alignments(
        alignments=found,
        residual_ns=fit.residual_ns,
        notes=(*_jumped(traces, units, fit), *_untied(found), *_early(traces, units, fit)),
        lost=tuple(part for jump in fit.jumps for part in _lost(units, fit, jump)),
    )


def _fit(of_trace: I64, first_ns: I64, ends: Meets, order: Orders) -> tuple[Units, Fitted]:
    units = placed(of_trace, first_ns, ends, order)
    return units, fitted(Evidence(units, ends, order))


def _alignment(
    trace: Trace, index: int, clock: tuple[Units, Fitted], bar_ns: float, first_ns: int
) -> Alignment:
    units, fit = clock
    unit = int(units.of_trace[index])
    if units.component[unit] != 0:
        return Alignment(worker=trace.worker, offset_ns=0, drift_ppm=0.0, raw_start_ns=first_ns)
    scale = fit.known.scale
    drift = float(fit.known.q[unit] / scale.extent[unit])
    since = first_ns - int(units.start_ns[unit]) - float(scale.middle[unit])
    slope_bar = float(fit.slope_bar_ns[unit] / scale.extent[unit]) * 1e6
    known = np.isfinite(bar_ns)
    return Alignment(
        worker=trace.worker,
        offset_ns=int(units.offset_ns[unit]) + round(float(fit.known.p[unit]) + drift * since),
        drift_ppm=drift * 1e6,
        raw_start_ns=first_ns,
        error_ns=bar_ns if known else None,
        drift_error_ppm=(slope_bar if unit else 0.0) if known and np.isfinite(slope_bar) else None,
    )


def _jumped(traces: Sequence[Trace], units: Units, fit: Fitted) -> list[Note]:
    return [_jump(traces, units, fit, jump) for jump in fit.jumps]


def _jump(traces: Sequence[Trace], units: Units, fit: Fitted, jump: Jump) -> Note:
    index = int(np.flatnonzero(units.of_trace == jump.unit)[0])
    scale = fit.known.scale
    since = float(scale.middle[jump.unit] + jump.z * scale.extent[jump.unit])
    trace = traces[index]
    raw = int(units.start_ns[jump.unit]) + round(since)
    before = np.flatnonzero((trace.start_ns <= raw) & (trace.step >= 0))
    step = f" in step {int(trace.step[before[-1]])}" if len(before) else ""
    text = (
        f"The clock jumped by {show_ns(abs(jump.ahead_ns))} about {show_ns(since)} after the first "
        f"event{step}; the {'later' if jump.lost_z[1] > 1 else 'earlier'} part is not aligned."
    )
    return Note(code="clock-jump", text=text, worker=trace.worker)


def _lost(units: Units, fit: Fitted, jump: Jump) -> list[Lost]:
    """The shorter side of a jump, in every trace that keeps the clock."""
    scale = fit.known.scale
    base = int(units.start_ns[jump.unit])
    first, last = (
        base + round(float(scale.middle[jump.unit] + z * scale.extent[jump.unit]))
        if np.isfinite(z)
        else (-1 if z < 0 else 1) * _ENDLESS
        for z in jump.lost_z
    )
    there = np.flatnonzero(units.of_trace == jump.unit).tolist()
    return [
        Lost(trace=trace, first_ns=first, last_ns=last, ahead_ns=jump.ahead_ns) for trace in there
    ]


def _untied(found: tuple[Alignment, ...]) -> list[Note]:
    text = "Nothing ties this clock to the first worker's; its times stay as they were recorded."
    return [
        Note(code="clock-untied", text=text, worker=alignment.worker)
        for alignment in found[1:]
        if alignment.error_ns is None
    ]


def _early(traces: Sequence[Trace], units: Units, fit: Fitted) -> list[Note]:
    early = fit.early
    if not len(early):
        return []
    worst = int(np.argmax(early.late_ns))
    index = int(np.flatnonzero(units.of_trace == early.after[worst])[0])
    text = (
        f"Events end up to {show_ns(float(early.late_ns[worst]))} before they can, and no clock "
        "within its error explains it: a wrong match, or an event that begins late or ends early."
    )
    return [Note(code="too-early", text=text, worker=traces[index].worker, count=len(early))]
