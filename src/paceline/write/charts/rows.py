"""Which rows the picture of a step has: the workers that matter, and what each of them does.

Lanes of one worker that do the same kind of thing share a row, so that eight workers fit a page
however many threads and streams they have.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paceline.model import UNKNOWN, Graph, Kind, Profile, Report, Timeline

MOST_WORKERS = 8
LEAST = 0.003  # of the step; a role that takes less on every worker is not drawn
ROLES: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("compute", (Kind.COMPUTE, Kind.COPY)),
    ("host", (Kind.HOST, Kind.LOAD)),
    ("network", (Kind.COLLECTIVE, Kind.SEND, Kind.RECV)),
)


class Row(NamedTuple):
    """One row: a worker in one role."""

    worker: int
    role: str
    kinds: tuple[Kind, ...]


def rows(graph: Graph, line: Timeline, workers: Sequence[int]) -> list[Row]:
    """The rows of these workers; roles that take no time to speak of are left out."""
    took = np.where(line.start_ns == UNKNOWN, 0, line.end_ns - line.start_ns)
    least = LEAST * line.step_ns
    per_role: dict[str, dict[int, int]] = {}
    for role, kinds in ROLES:
        own = np.isin(graph.kind, kinds)
        per_role[role] = {one: int(took[own & (graph.worker == one)].sum()) for one in workers}
    return [
        Row(worker, role, kinds)
        for worker in workers
        for role, kinds in ROLES
        if per_role[role][worker] and max(per_role[role].values()) > least
    ]


def chosen_workers(report: Report, profile: Profile) -> list[int]:
    """Workers of findings first, then those on the critical path by time, then evenly spread."""
    on_path: dict[int, float] = {}
    for part in report.critical_path:
        on_path[part.worker] = on_path.get(part.worker, 0.0) + part.ns
    every = profile.graph.workers
    spread = [every[int(at)] for at in np.linspace(0, len(every) - 1, MOST_WORKERS)]
    wanted = [found.worker for found in report.findings if found.worker is not None]
    wanted = [*dict.fromkeys(wanted)][: MOST_WORKERS // 2]
    wanted += sorted(on_path, key=lambda worker: -on_path[worker])[: MOST_WORKERS // 2 - 1]
    order = dict.fromkeys([*wanted, *spread, *every])
    return sorted([worker for worker in order if worker in set(every)][:MOST_WORKERS])
