"""What a step would take with edits: each alone, and all together.

Several recorded steps are rewritten and played, and the mean of them is stated with its interval;
nothing changed gives the base, by the same simulation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paceline import rewrite, simulate
from paceline.diagnose.case import chosen
from paceline.diagnose.interval import mean
from paceline.model import (
    TALKING,
    UNKNOWN,
    Cluster,
    Edit,
    Graph,
    ModelError,
    Profile,
    Timeline,
    WhatIf,
)

STEPS = 8
# edits that speak of collectives, whatever messages these are made of
_WHOLE = ("fuse-buckets", "split-buckets", "collective", "workers", "accumulate")


class WhatIfs(NamedTuple):
    """The step as it is, under each edit, under all; and what the edits had to assume."""

    base_ns: float
    each: tuple[WhatIf, ...]
    together: WhatIf
    notes: tuple[str, ...]


def whatif(profile: Profile, edits: Sequence[Edit], cluster: Cluster | None = None) -> WhatIfs:
    """The step under the edits; raises where one cannot be applied."""
    if not profile.measured:
        raise ModelError(
            "the profile holds no measured step.", cure="Record a few steps of steady training."
        )
    job = rewrite.Serial(profile, ())
    if any(edit.name in _WHOLE for edit in edits):
        job = rewrite.serial(rewrite.whole(profile))
    elif any(edit.get("link") is not None for edit in edits):
        job = rewrite.serial(profile)
    both_ns = overlap_ns(profile)
    base, _ = _played(job, (), cluster, both_ns)
    alone = [_played(job, (edit,), cluster, both_ns) for edit in edits]
    together, notes = _played(job, tuple(edits), cluster, both_ns) if len(edits) != 1 else alone[0]
    return WhatIfs(
        base_ns=base.step_ns,
        each=tuple(one for one, _ in alone),
        together=together,
        notes=tuple(dict.fromkeys([*(note for _, own in alone for note in own), *notes])),
    )


def _played(
    job: rewrite.Serial, edits: tuple[Edit, ...], cluster: Cluster | None, both_ns: float
) -> tuple[WhatIf, tuple[str, ...]]:
    profile, lengths = job.profile, list[float]()
    notes: list[str] = []
    for step in chosen(profile, STEPS):
        times = job.times(simulate.times(profile, step=step), profile.measured[step])
        new = rewrite.edited(profile.graph, times, edits, profile=profile, cluster=cluster)
        line = simulate.timeline(new.graph, new.times, new.cluster, machines=new.machines)
        lengths.append(line.step_ns - both_ns)
        notes.extend(note.text for note in new.notes)
    found = mean(np.array(lengths, dtype=np.float64))
    what = WhatIf(edits=edits, step_ns=found.value, interval_ns=found.interval)
    return what, tuple(dict.fromkeys(notes))


def overlap_ns(profile: Profile) -> float:
    """How long one step and the next go on at once: the first worker begins before the last ends.

    Where all workers meet in each step, what the job takes for one is what each of them takes from
    its own begin to its own end, not from the first begin to the last end.
    """
    if not _all_meet(profile.graph):
        return 0.0
    found = [line.step_ns - _own_ns(profile, line) for line in profile.measured]
    return max(0.0, float(np.median(found))) if found else 0.0


def _all_meet(graph: Graph) -> bool:
    """Whether some collective, or the hops of one, joins all workers."""
    talks = np.isin(graph.kind, TALKING) & (graph.match >= 0)
    group = graph.match_group[graph.match[talks]]
    pairs = np.unique(np.stack([group, graph.worker[talks]]), axis=1)
    return bool(len(graph.workers) in np.unique(pairs[0], return_counts=True)[1])


def _own_ns(profile: Profile, line: Timeline) -> float:
    """What a worker takes from its own begin to its own end, on average."""
    graph, known = profile.graph, line.start_ns != UNKNOWN
    ranks = np.sort(np.array(graph.workers))
    begin, end = np.full(len(ranks), np.inf), np.full(len(ranks), -np.inf)
    place = np.searchsorted(ranks, graph.worker[known])
    np.minimum.at(begin, place, line.start_ns[known])
    np.maximum.at(end, place, line.end_ns[known])
    there = np.isfinite(begin)
    return float((end - begin)[there].mean()) if there.any() else float(line.step_ns)
