"""What a recording has left, as a view for programs and a page for people."""

import shlex

import msgspec

from paceline.model import RecordedWindow, Recording, show_bytes
from paceline.write.page import Page

_SHOWN = 16  # ranks that are spelled out


class RecordingView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline record`."""

    schema: int
    folder: str
    exit_code: int | None
    workers: tuple[int, ...]
    missing_workers: tuple[int, ...]
    steps: int
    windows: tuple[RecordedWindow, ...]
    size_bytes: int
    next: str | None


def recording_page(recording: Recording) -> Page:
    """The page that shows it."""
    size = recording.size or 0
    missing = tuple(rank for rank in range(size) if rank not in recording.workers)
    ready = recording.folder if recording.workers and recording.steps else None
    view = RecordingView(
        schema=1,
        folder=recording.folder,
        exit_code=recording.exit_code,
        workers=recording.workers,
        missing_workers=missing,
        steps=recording.steps,
        windows=recording.windows,
        size_bytes=recording.size_bytes,
        next=None if ready is None else f"paceline diagnose {shlex.quote(ready)}",
    )
    return Page(title="What was recorded", facts=_facts(view), tables=(), view=view)


def _facts(view: RecordingView) -> tuple[tuple[str, str], ...]:
    if not view.workers:
        why = "none; no process of the command joined a process group of torch"
        return (("folder", view.folder), ("workers", why))
    count = len(view.workers)
    gone = f"; missing: {_ranks(view.missing_workers)}" if view.missing_workers else ""
    facts = [
        ("folder", f"{view.folder}, {show_bytes(view.size_bytes)}"),
        ("workers", f"{count} of {count + len(view.missing_workers)}{gone}"),
        ("steps", str(view.steps)),
        *(("in detail", _window(window, view)) for window in view.windows),
    ]
    if view.exit_code:
        facts.append(("command", f"ended with code {view.exit_code}"))
    if view.next:
        facts.append(("next", view.next))
    return tuple(facts)


def _window(window: RecordedWindow, view: RecordingView) -> str:
    text = f"steps {window.first} to {window.last - 1}"
    if len(view.windows) > 1:
        text += f", in {window.folder.rpartition('/')[2]}"
    if window.workers < len(view.workers):
        text += f"; recorded by {window.workers} of {len(view.workers)} workers only"
    return text


def _ranks(ranks: tuple[int, ...]) -> str:
    more = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    return ", ".join(map(str, ranks[:_SHOWN])) + more
