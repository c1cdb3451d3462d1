"""What commands load: the profile of a run, from its traces or as it was saved."""

from pathlib import Path

from paceline import model, read, stitch

PROFILES = (".profile", ".profile.gz", ".profile.json")


def profile_of(
    run: tuple[Path, ...], max_bytes: str | None = None, max_ratio: int | None = None
) -> model.Profile:
    """The profile of a run."""
    if len(run) == 1 and run[0].name.endswith(PROFILES):
        return model.load(run[0], model.Profile)
    caps = read.DEFAULT_CAPS
    if max_bytes is not None or max_ratio is not None:
        caps = read.Caps(
            largest_bytes=caps.largest_bytes if max_bytes is None else model.parse_bytes(max_bytes),
            ratio=caps.ratio if max_ratio is None else max_ratio,
        )
    return stitch.profile(read.traces(run[0] if len(run) == 1 else run, caps=caps))
