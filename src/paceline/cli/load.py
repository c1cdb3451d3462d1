"""What commands load: the traces of a run, its profile from them or as saved, and its cluster."""

from pathlib import Path

from paceline import model, read, stitch

PROFILES = (".profile", ".profile.gz", ".profile.json", ".profile.json.gz")


def profile_of(
    run: tuple[Path, ...], max_bytes: str | None = None, max_ratio: int | None = None
) -> model.Profile:
    """The profile of a run."""
    if len(run) == 1 and run[0].name.endswith(PROFILES):
        return model.load(run[0], model.Profile)
    return stitch.profile(traces_of(run, max_bytes, max_ratio))


def traces_of(
    run: tuple[Path, ...], max_bytes: str | None = None, max_ratio: int | None = None
) -> tuple[model.Trace, ...]:
    """The traces of a folder or of files, within the limits."""
    caps = read.DEFAULT_CAPS
    if max_bytes is not None or max_ratio is not None:
        caps = read.Caps(
            largest_bytes=caps.largest_bytes if max_bytes is None else model.parse_bytes(max_bytes),
            ratio=caps.ratio if max_ratio is None else max_ratio,
        )
    return read.traces(run[0] if len(run) == 1 else run, caps=caps)


def cluster_of(
    profile: model.Profile, declared: Path | None, *, as_ports: bool = False
) -> model.Cluster:
    """The cluster as declared in a file, else as the profile shows it."""
    if declared is not None:
        return read.cluster(declared)
    return stitch.cluster(profile, as_ports=as_ports)
