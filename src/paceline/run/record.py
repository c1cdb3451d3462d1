"""`with paceline.record("RUN"):` records what the job does inside, on every worker that says so.

Under `paceline record` the whole job is recorded anyway, and the script's own `with` does nothing.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from paceline.run import record_settings
from paceline.run.record_settings import Settings


class Recording:
    """A recording under way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def step(self) -> None:
        """Ends a step, for scripts without an optimizer of torch; then only this ends steps."""
        from paceline.run.record_patch import Door

        if Door.recorder is not None:
            Door.recorder.end_step_by_hand()


@contextmanager
def record(
    folder: Path | str,
    *,
    windows: Sequence[str] = ("10:30",),
    norms: bool = True,
    modules: Sequence[object] = (),
) -> Generator[Recording]:
    """Records into the folder until the block ends, if the process has a group or gets one.

    Modules that were built before have their buckets recorded if they are named.
    """
    from paceline.run.record_patch import Door, lead, leave, watched
    from paceline.run.recorder import Recorder

    if Door.recorder is not None:
        yield Recording(Door.recorder.settings.folder)
        return
    chosen = Settings(folder=Path(folder), windows=record_settings.windows(windows), norms=norms)
    recorder = Recorder(chosen)
    lead(recorder)
    recorder.begin()
    for module in modules:
        watched(module)
    try:
        yield Recording(chosen.folder)
    finally:
        leave()
