"""What valid timelines, spreads and profiles are."""

from collections import Counter

import numpy as np

from paceline.model.columns import UNKNOWN
from paceline.model.profile import DECILES, Profile, Spreads
from paceline.model.rule import Rule, endless, lengths, no_rank, outside, rows
from paceline.model.timeline import Timeline


def _timeline_order(line: Timeline) -> list[str]:
    known = line.start_ns != UNKNOWN
    return rows("op", (known != (line.end_ns != UNKNOWN)) | (known & (line.end_ns < line.start_ns)))


TIMELINE: tuple[Rule[Timeline], ...] = (
    Rule("starts and ends are equally long",
         lambda t: [] if len(t.start_ns) == len(t.end_ns) else ["end_ns"]),
    Rule("no op ends before it starts, and both are known or neither", _timeline_order),
)  # fmt: skip


def _spreads(spreads: Spreads) -> list[str]:
    table = spreads.deciles_ns.reshape(-1, DECILES)
    bad = (table[:, 1:] < table[:, :-1]).any(axis=1) | ~np.isfinite(table).all(axis=1)
    return rows("row", bad | (spreads.count < 1) | ~np.isfinite(spreads.mean_ns))


SPREADS: tuple[Rule[Spreads], ...] = (
    Rule("all columns are equally long",
         lambda s: lengths(s, len(s), ("deciles_ns",)) or
         ([] if len(s.deciles_ns) == DECILES * len(s) else ["deciles_ns"])),
    Rule("deciles rise, are finite, and count something", _spreads),
)  # fmt: skip


def _profile_works(profile: Profile) -> list[str]:
    works, kinds = len(profile.graph.works), len(profile.kinds)
    return [
        name
        for name, spreads in (("durations", profile.durations), ("leads", profile.leads))
        if outside(spreads.work, works) or outside(spreads.kind, kinds)
    ]


def _profile_workers(profile: Profile) -> list[str]:
    ranks = Counter(worker.rank for worker in profile.workers)
    odd = [f"worker {rank}" for rank, count in ranks.items() if count > 1 or no_rank(rank)]
    odd += [f"worker {w.rank}" for w in profile.workers if not 0 <= w.kind < len(profile.kinds)]
    odd += [f"worker {rank}" for rank in profile.missing_workers if rank in ranks]
    return odd + ([] if set(profile.graph.workers) <= set(ranks) else ["the graph"])


PROFILE: tuple[Rule[Profile], ...] = (
    Rule("workers are listed once, with a kind of the table", _profile_workers),
    Rule("times name works and kinds that exist", _profile_works),
    Rule("all columns of noise are equally long", lambda p: lengths(p.noise, len(p.noise), ())),
    Rule("measured steps time every op of the graph",
         lambda p: [f"step {t.step}" for t in p.measured if len(t) != len(p.graph)]),
    Rule("figures are finite",
         lambda p: endless((p.job, p.alignment, p.residual_ns), "profile")),
)  # fmt: skip
