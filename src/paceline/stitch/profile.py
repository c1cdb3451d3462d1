"""From the traces of all workers to one Profile.

Traces of one worker are joined; the steps that all workers recorded are chosen; spans are cut so
that each lane does one thing at a time; talking events are matched and clocks aligned; all steps
are folded into one graph, and its missing dependencies inferred; last, every op's own work is
fitted.
"""

from collections.abc import Iterable

import numpy as np

from paceline.model import (
    I64,
    Graph,
    Job,
    ModelError,
    Note,
    Profile,
    Spreads,
    Timeline,
    Trace,
    verify,
)
from paceline.stitch import align, facts, flatten, fold, join, lost_steps, match, steps, stuck
from paceline.stitch.acyclic import acyclic
from paceline.stitch.fit import Recorded
from paceline.stitch.fold_graph import graph, links
from paceline.stitch.fold_matches import meetings
from paceline.stitch.infer import inferred
from paceline.stitch.issue import issued
from paceline.stitch.pool import unpooled
from paceline.stitch.spread import spreads

_MEASURED = 256  # steps whose recorded times a profile keeps


def profile(traces: Iterable[Trace], *, job: Job | None = None) -> Profile:
    """All that the traces tell of the job: what its steps are made of, and how long its work takes.

    Workers that left nothing are listed as missing; what could not be used is told in `notes`.
    """
    joined = join.workers(traces)
    whole = steps.whole(joined.traces)
    placed = tuple(issued(unpooled(trace)) for trace in whole.traces)
    matches = match.events(placed)
    clocks = align.clocks(placed, matches)
    kept, jumped = lost_steps.without(clocks.lost, placed, whole.kept)
    meets = flatten.linked(placed)
    pieces = [flatten.pieces(t, kept, own) for t, own in zip(placed, meets, strict=True)]
    folded = fold.ops(placed, pieces, clocks.alignments, len(kept))
    if not len(folded):
        raise ModelError(
            "no op is part of at least half of the recorded steps.",
            expected="The steps of a job are mostly alike.",
            cure="Record a few steps of steady training.",
        )
    shown = graph(folded, placed, meetings(folded, matches), links(folded, placed))
    full, circles = acyclic(shown, inferred(shown, folded.start_ns, folded.end_ns))
    workers, kinds = facts.workers(placed)
    kind_of = {worker.rank: worker.kind for worker in workers}
    kind = np.array([kind_of[rank] for rank in full.workers])
    durations, leads = _fitted(full, folded, kind[np.searchsorted(full.workers, full.worker)])
    measured, left = _measured(folded, kept)
    flat = [note for own in pieces for note in own.notes]
    told = [note for trace in placed for note in trace.notes]
    return verify(
        Profile(
            job=job or Job(),
            workers=workers,
            missing_workers=joined.missing,
            kinds=kinds,
            graph=full,
            durations=durations,
            leads=leads,
            measured=measured,
            alignment=clocks.alignments,
            residual_ns=clocks.residual_ns,
            matching=facts.matching(placed, matches),
            stuck=stuck.calls(placed, matches),
            noise=facts.noise(placed),
            events=sum(len(trace) for trace in placed),
            notes=(*told, *joined.notes, *whole.notes, *flat, *clocks.notes, *jumped, *folded.notes,
                   *circles, *left),
            sources=facts.sources(placed),
        )
    )  # fmt: skip


def _fitted(full: Graph, folded: fold.Folded, kind: I64) -> tuple[Spreads, Spreads]:
    """Spreads of own work and of leads, over all steps."""
    recorded = Recorded(full)
    times = [
        recorded.times(start, end)
        for start, end in zip(folded.start_ns.T, folded.end_ns.T, strict=True)
    ]
    duration = np.stack([own.duration_ns for own in times], axis=1)
    lead = np.stack([own.lead_ns for own in times], axis=1)
    return spreads(full.work, kind, duration), spreads(full.work, kind, lead)


def _measured(
    folded: fold.Folded, steps_kept: tuple[int, ...]
) -> tuple[tuple[Timeline, ...], tuple[Note, ...]]:
    """The recorded steps as timelines; of very many, some evenly chosen."""
    chosen: list[int] = fold.evenly(len(steps_kept), _MEASURED).tolist()
    lines = tuple(
        Timeline(
            start_ns=folded.start_ns[:, at],
            end_ns=folded.end_ns[:, at],
            step=steps_kept[at],
            measured=True,
        )
        for at in chosen
    )
    dropped = len(steps_kept) - len(lines)
    text = f"steps whose times were used but not kept; {len(lines)} evenly chosen ones were"
    return lines, (Note(code="steps-not-kept", text=text, count=dropped),) if dropped else ()
