"""The critical path of the typical step, in the report's terms."""

from paceline import simulate
from paceline.model import PathPart, Profile

LONGEST = 200  # parts; the shortest of a longer path are left out


def path_parts(profile: Profile) -> tuple[PathPart, ...]:
    """The parts of the critical path of the typical step, in order of time."""
    times = simulate.times(profile)
    path = simulate.critical_path(profile.graph, times, simulate.timeline(profile.graph, times))
    parts = [
        PathPart(worker=part.worker, kind=part.kind, name=part.name, ns=part.ns, op=part.op)
        for part in path.parts
    ]
    if len(parts) > LONGEST:
        least = sorted(parts, key=lambda part: -part.ns)[LONGEST - 1].ns
        parts = [part for part in parts if part.ns >= least][:LONGEST]
    return tuple(parts)
