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
from paceline.model import Cluster, Edit, ModelError, Profile, WhatIf

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
    base, _ = _played(job, (), cluster)
    alone = [_played(job, (edit,), cluster) for edit in edits]
    together, notes = _played(job, tuple(edits), cluster) if len(edits) != 1 else alone[0]
    return WhatIfs(
        base_ns=base.step_ns,
        each=tuple(one for one, _ in alone),
        together=together,
        notes=tuple(dict.fromkeys([*(note for _, own in alone for note in own), *notes])),
    )


def _played(
    job: rewrite.Serial, edits: tuple[Edit, ...], cluster: Cluster | None
) -> tuple[WhatIf, tuple[str, ...]]:
    profile, lengths = job.profile, list[float]()
    notes: list[str] = []
    for step in chosen(profile, STEPS):
        times = job.times(simulate.times(profile, step=step), profile.measured[step])
        new = rewrite.edited(profile.graph, times, edits, profile=profile, cluster=cluster)
        line = simulate.timeline(new.graph, new.times, new.cluster, machines=new.machines)
        lengths.append(line.step_ns)
        notes.extend(note.text for note in new.notes)
    found = mean(np.array(lengths, dtype=np.float64))
    what = WhatIf(edits=edits, step_ns=found.value, interval_ns=found.interval)
    return what, tuple(dict.fromkeys(notes))
