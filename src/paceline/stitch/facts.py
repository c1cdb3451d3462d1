"""What the traces tell of a job besides when its ops ran.

Workers with their machines and peak memory, gradient norms and losses, how many talking events
found their counterparts, and where all of it came from.
"""

from collections.abc import Sequence

import numpy as np

from paceline.model import Kind, Matching, Noise, ProfiledWorker, Source, Trace
from paceline.stitch.matches import Matches

_UNKNOWN_KIND = "unknown"


def workers(traces: Sequence[Trace]) -> tuple[tuple[ProfiledWorker, ...], tuple[str, ...]]:
    """Each worker, on the machine it names or on one of its own; and the kinds of machine."""
    kinds: dict[str, int] = {}
    found = [
        ProfiledWorker(
            rank=trace.worker,
            machine=trace.facts.machine or f"worker-{trace.worker}",
            kind=kinds.setdefault(trace.facts.device or _UNKNOWN_KIND, len(kinds)),
            peak_bytes=trace.facts.peak_bytes,
        )
        for trace in traces
    ]
    return tuple(found), tuple(kinds)


def noise(traces: Sequence[Trace]) -> Noise:
    """Losses and squared norms of gradients by worker and step."""
    norms = [trace.norms for trace in traces]
    ranks = [trace.worker for trace in traces]
    return Noise(
        worker=np.repeat(ranks, [len(own) for own in norms]).astype(np.int32),
        step=np.concatenate([own.step for own in norms]),
        loss=np.concatenate([own.loss for own in norms]),
        local=np.concatenate([own.local for own in norms]),
        average=np.concatenate([own.average for own in norms]),
    )


def matching(traces: Sequence[Trace], matches: Matches) -> tuple[Matching, ...]:
    """How many talking events met, by kind and key; one alone counts to the key it could have."""
    counts: dict[tuple[str, str], list[int]] = {}
    for position, trace in enumerate(traces):
        rows = matches.trace == position
        met = np.zeros(len(trace), dtype=np.bool_)
        keyed = trace.sequence >= 0
        met[matches.event[rows]] = True
        keyed[matches.event[rows]] = matches.keyed[matches.match[rows]] == 1
        for what, kinds in (
            ("collective", (Kind.COLLECTIVE,)),
            ("message", (Kind.SEND, Kind.RECV)),
        ):
            own = np.isin(trace.kind, kinds)
            for key, chosen in (("group and sequence", own & keyed), ("order", own & ~keyed)):
                count = counts.setdefault((what, key), [0, 0])
                count[0] += int((chosen & met).sum())
                count[1] += int((chosen & ~met).sum())
    return tuple(
        Matching(kind=what, key=key, matched=met, unmatched=alone)
        for (what, key), (met, alone) in counts.items()
        if met or alone
    )


def sources(traces: Sequence[Trace]) -> tuple[Source, ...]:
    """All files, each once, in order of rank."""
    return tuple(dict.fromkeys(source for trace in traces for source in trace.sources))
