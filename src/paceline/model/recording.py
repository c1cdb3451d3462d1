"""What a recording has left in its RUN folder, before anything of it is read as traces."""

import msgspec


class RecordedWindow(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that were to be recorded in detail, from `first` up to but not including `last`."""

    first: int
    last: int
    folder: str
    workers: int  # how many left a timeline of it


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """Who recorded how much; `size` is how many workers the job had, None if nobody says."""

    folder: str
    workers: tuple[int, ...]
    size: int | None
    steps: int
    windows: tuple[RecordedWindow, ...]
    size_bytes: int
    exit_code: int | None = None
