"""`steps.jsonl`: what one worker did, as native JSON lines, with the steps that are over on disk.

Lines are kept until `flush`, which hands them to the system at once: a kill loses no step that was
over, and leaves at most one broken line at the end.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

NAME = "steps.jsonl"
SOURCE = "paceline record"
_encoder = msgspec.json.Encoder()


class Lines:
    """The file of one worker; every method may raise OSError, as on a full disk."""

    def __init__(self, folder: Path, workers: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        self.file = os.open(folder / NAME, flags, 0o644)
        self.waiting: list[bytes] = []
        self.add({"paceline_trace": 1, "workers": workers, "source": SOURCE})

    def add(self, line: Mapping[str, object]) -> None:
        """One more line."""
        self.waiting.append(_encoder.encode(line))

    def flush(self) -> None:
        """Writes all lines that wait."""
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, []
        content = b"\n".join(waiting) + b"\n"
        while content:
            content = content[os.write(self.file, content) :]

    def close(self) -> None:
        """Writes what waits and closes the file."""
        try:
            self.flush()
        finally:
            os.close(self.file)


def whole_file(path: Path, content: bytes) -> None:
    """Writes a file that is there whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
