"""What a recording is asked to do, as `paceline record` hands it on to the workers.

Workers hear of it by the environment: PACELINE_RECORD is the RUN folder, and each flag of the
command has the variable that the flag has anyway (PACELINE_RECORD_WINDOW, ...).
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

Window: TypeAlias = tuple[int, int]  # the first step, and the one after the last

RUN = "PACELINE_RECORD"
DEFAULT_WINDOW: Window = (10, 30)
_LATEST = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where to record, which steps in detail, and whether norms of gradients are taken."""

    folder: Path
    windows: tuple[Window, ...] = (DEFAULT_WINDOW,)
    norms: bool = True

    def environment(self) -> dict[str, str]:
        """The variables that say this to a worker."""
        return {
            RUN: str(self.folder.absolute()),
            f"{RUN}_WINDOW": " ".join(f"{first}:{last}" for first, last in self.windows),
            f"{RUN}_NO_PROFILE": "" if self.windows else "1",
            f"{RUN}_NO_NORMS": "" if self.norms else "1",
        }

    def window_folder(self, window: Window) -> Path:
        """Where the recording of a window lies: in the folder itself if it is the only one."""
        if len(self.windows) < 2:
            return self.folder
        return self.folder / f"window-{self.windows.index(window)}"


def from_environment(given: Mapping[str, str] = os.environ) -> Settings | None:
    """What the environment asks for, None if nothing is to be recorded."""
    if not given.get(RUN):
        return None
    detailed = given.get(f"{RUN}_WINDOW", "10:30").split()
    return Settings(
        folder=Path(given[RUN]),
        windows=() if given.get(f"{RUN}_NO_PROFILE") else windows(detailed),
        norms=not given.get(f"{RUN}_NO_NORMS"),
    )


def windows(texts: Iterable[str]) -> tuple[Window, ...]:
    """Windows as in `10:30`, in order; they must not overlap."""
    found = sorted(_window(text) for text in texts)
    for before, after in pairwise(found):
        if after[0] < before[1]:
            both = f"{before[0]}:{before[1]} and {after[0]}:{after[1]}"
            raise _refused(f"the windows {both} overlap.")
    return tuple(found)


def _window(text: str) -> Window:
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and text.isascii()):
        raise _refused(f"{text!r} is no window.")
    if not int(first) < int(last) <= _LATEST:
        raise _refused(f"the window {text} holds no step.")
    return int(first), int(last)


def _refused(found: str) -> Exception:
    from paceline.model import InputError  # loads numpy, so not before it is needed

    return InputError(
        found, expected="Steps are counted from 0, and the last one is not part of the window."
    )
