"""Small profiler files made by hand, one call an entry, and what is read from them."""

import json
from pathlib import Path
from typing import Any

from paceline import read
from paceline.model import Event, Trace

MAIN, ENGINE, STREAM, OTHER = (1, 1), (1, 2), (0, 7), (0, 20)


class Made:
    """Entries of a file; times in microseconds."""

    def __init__(self, folder: Path, **head: Any) -> None:
        self.path = folder / "rank_0.json"
        self.head: dict[str, Any] = {"schemaVersion": 1, "baseTimeNanoseconds": 0, **head}
        self.entries: list[dict[str, Any]] = []

    def span(
        self,
        cat: str,
        name: str,
        start: float,
        length: float,
        at: tuple[Any, Any] = MAIN,
        **args: Any,
    ) -> "Made":
        args = {
            key.replace("_", " ") if key[0].isupper() else key: value for key, value in args.items()
        }
        entry = {"ph": "X", "cat": cat, "name": name, "pid": at[0], "tid": at[1]}
        self.entries.append({**entry, "ts": start, "dur": length, "args": args})
        return self

    def op(
        self, name: str, start: float, length: float, at: tuple[Any, Any] = MAIN, **args: Any
    ) -> "Made":
        return self.span("cpu_op", name, start, length, at, **args)

    def mark(
        self, name: str, start: float, length: float, at: tuple[Any, Any] = MAIN, **args: Any
    ) -> "Made":
        return self.span("user_annotation", name, start, length, at, **args)

    def call(
        self, name: str, start: float, length: float, id: int, at: tuple[Any, Any] = MAIN
    ) -> "Made":
        return self.span("cuda_runtime", name, start, length, at, correlation=id)

    def kernel(
        self,
        name: str,
        start: float,
        length: float,
        id: int,
        at: tuple[Any, Any] = STREAM,
        **args: Any,
    ) -> "Made":
        return self.span("kernel", name, start, length, at, correlation=id, **args)

    def arrow(self, letter: str, id: int, start: float, at: tuple[Any, Any] = MAIN) -> "Made":
        entry = {"ph": letter, "id": id, "pid": at[0], "tid": at[1], "ts": start}
        self.entries.append({**entry, "cat": "fwdbwd", "name": "fwdbwd"})
        return self

    def thread(self, name: str, at: tuple[Any, Any]) -> "Made":
        entry = {"ph": "M", "name": "thread_name", "pid": at[0], "tid": at[1], "ts": 0}
        self.entries.append({**entry, "args": {"name": name}})
        return self

    def write(self) -> Path:
        self.path.write_text(json.dumps({**self.head, "traceEvents": self.entries}))
        return self.path

    def trace(self) -> Trace:
        return read.trace(self.write())

    def events(self) -> list[Event]:
        return list(self.trace())

    def after(self) -> dict[str, list[str]]:
        """The names of what each event is after, by its own name; those without are left out."""
        events = self.events()
        return {
            event.name: [events[at].name for _, at in event.after]
            for event in events
            if event.after
        }
