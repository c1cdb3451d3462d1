"""Pairs of ops of which one may have waited for the other, with what every step showed of them.

For each op that stood still before it began, or that lasted, and for each other lane of its worker:
the last op there that had ended in nearly all steps. What follows from it is judged in `infer`.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I64, UNKNOWN
from paceline.stitch.nest import Mask

STILL_NS = 20_000  # what is shorter is no wait
NEARLY_ALL = 0.95
# By how much an effect may seem to precede its cause: recorders stamp two lanes at other moments.
# A thread that has just handed over its result may even be stopped before it stamps its own end.
_JITTER = 0.02  # of the wait
_LEAST_JITTER_NS = 2_000
FEW = 4  # with fewer steps, workers that do the same are looked at together
JITTER_NS = 20_000
STOPPED_NS = 500_000
# On crowded cores it loses slices of time, but not in most steps.
MOSTLY = 0.6
SLICE_NS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Some steps of all ops: when each began and ended, and when all it is known to need had.

    `free_ns` counts the lane before it and what it is after, `awaited_ns` only the latter; `talks`
    marks collectives and messages.
    """

    talks: Mask
    start_ns: I64
    end_ns: I64
    free_ns: I64
    awaited_ns: I64
    known: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """One row for each pair, one column for each step.

    `gap_ns` runs from the end of the cause to what it may explain: the op's start, or its end.
    `whole_ns` is what is explained: the time the lane stood still, or the op lasted. `varies_ns` is
    what should vary more than the gap. `both` marks the steps that hold the two, `held` those
    in which the cause had ended, `waited` those in
    which the op had to wait for the cause if it ever did, `still` those in which the cause's own
    lane had fallen still by then.
    """

    op: I64
    cause: I64
    gap_ns: I64
    whole_ns: I64
    varies_ns: I64
    both: Mask
    held: Mask
    waited: Mask
    still: Mask


def resuming(seen: Seen, ops: I64, lane: I64) -> list[Cases]:
    """The given ops against the last op of another lane that had ended when each began."""
    often = _often(ops, (seen.start_ns - seen.free_ns)[ops], seen)
    wait = seen.free_ns, seen.start_ns
    plain = _paired(seen, often, lane, wait, varies=seen.start_ns, jitter_ns=JITTER_NS)
    if not seen.talks[lane].all():
        return [plain]
    stopped = _paired(seen, often, lane, wait, varies=seen.start_ns, jitter_ns=STOPPED_NS)
    if seen.start_ns.shape[1] < FEW:
        return [plain, stopped]  # too few steps to let one pass
    crowded = _paired(
        seen, often, lane, wait, varies=seen.start_ns, jitter_ns=STOPPED_NS, share=MOSTLY,
        late_ns=SLICE_NS,
    )  # fmt: skip
    return [plain, stopped, crowded]


def blocking(seen: Seen, ops: I64, lane: I64) -> Cases:
    """The given ops against the last op of another lane that had ended when each ended."""
    begun = np.maximum(seen.start_ns, seen.awaited_ns)
    often = _often(ops, (seen.end_ns - begun)[ops], seen)
    lasted = seen.end_ns - seen.start_ns
    wait = begun, seen.end_ns
    return _paired(seen, often, lane, wait, varies=lasted, jitter_ns=JITTER_NS)


def _often(ops: I64, lasted: I64, seen: Seen) -> I64:
    """The ops that were still, or lasted, in at least half of the steps that hold them."""
    known = seen.known[ops]
    times = ((lasted >= STILL_NS) & known).sum(axis=1)
    return ops[(times > 0) & (2 * times >= known.sum(axis=1))]


def _paired(
    seen: Seen, ops: I64, lane: I64, wait: tuple[I64, I64], *, varies: I64, jitter_ns: int,
    share: float = NEARLY_ALL, late_ns: int = 0,
) -> Cases:  # fmt: skip
    """Each op with the op of the lane that in that share of steps had ended by its wait's end.

    In other steps it may have ended later by `late_ns`, but by no more than a tenth of the wait.
    """
    often = seen.known[lane].sum(axis=1)
    lane = lane[often >= NEARLY_ALL * often.max()]
    since, moment = (times[ops] for times in wait)
    jitter = ((moment - since) * _JITTER).astype(np.int64).clip(_LEAST_JITTER_NS, jitter_ns)
    place = _ended(seen, lane, np.where(seen.known[ops], moment + jitter, UNKNOWN), share)
    some = place >= 0
    ops, since, moment, jitter = ops[some], since[some], moment[some], jitter[some]
    cause = lane[place[some]]
    following = np.append(lane, -1)[place[some] + 1]
    both = seen.known[ops] & seen.known[cause]
    gap = moment - seen.end_ns[cause]
    # a marker without length is not what anybody waits for
    inside = (seen.end_ns[cause] >= since - jitter) & (seen.end_ns > seen.start_ns)[cause]
    late = np.maximum(jitter, np.minimum((moment - since) // 10, late_ns))
    moves_on = seen.known[following] & (seen.start_ns[following] < moment - jitter)
    return Cases(
        op=ops,
        cause=cause,
        gap_ns=gap,
        whole_ns=moment - since,
        varies_ns=varies[ops],
        both=both,
        held=both & (gap >= -late),
        waited=both & inside & (moment - since >= STILL_NS),
        still=~(moves_on & (following >= 0)[:, None]),
    )


def _ended(seen: Seen, lane: I64, moment: I64, share: float) -> I64:
    """For each row of moments, the last place of the lane that had ended in a share of steps."""
    steps = moment.shape[1]
    ends = np.maximum.accumulate(np.where(seen.known[lane], seen.end_ns[lane], -1), axis=0)
    room = int(max(ends.max(initial=0), moment.max(initial=0))) + 2
    shift = (
        np.arange(steps, dtype=np.int64) * room
    )  # all steps on one axis, so that one search serves them all
    axis = (ends + shift).T.reshape(-1)
    known = moment != UNKNOWN
    asked = np.where(known, moment, 0) + shift
    skipped = np.arange(steps, dtype=np.int64) * len(lane)
    place: I64 = np.searchsorted(axis, asked, side="right") - 1 - skipped
    ranked = np.sort(np.where(known, place, len(lane)), axis=1)
    nth = ((1 - share) * known.sum(axis=1)).astype(np.int64)
    return ranked[np.arange(len(ranked)), nth]
