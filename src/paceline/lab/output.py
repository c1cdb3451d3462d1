"""What the machines of a lab print: line by line, each with the name of its machine before it.

The last lines of each are kept, to be told when it fails.
"""

import sys
import threading
from collections import deque
from collections.abc import Sequence
from typing import IO, TextIO

from paceline.lab.wires import Process

KEPT = 12
LONGEST = 2**16  # bytes of one line; longer ones are shown in parts


class Output:
    """The output of several machines; `failure` is why it can be shown no longer."""

    def __init__(self, names: Sequence[str], show: str) -> None:
        self.failure: OSError | None = None
        self._width = max(len(name) for name in names)
        self._shown = set({"all": names, "first": names[:1], "none": ()}[show])
        self._last = {name: deque[str](maxlen=KEPT) for name in names}
        self._readers: dict[str, list[threading.Thread]] = {}
        self._lock = threading.Lock()

    def follow(self, machine: str, process: Process) -> None:
        """Reads both streams of a process until they end."""
        readers: list[threading.Thread] = []
        for stream, out in ((process.stdout, sys.stdout), (process.stderr, sys.stderr)):
            assert stream is not None
            words = (machine, stream, out)
            readers.append(threading.Thread(target=self._read, args=words, daemon=True))
        for reader in readers:
            reader.start()
        self._readers[machine] = readers

    def say(self, text: str) -> None:
        """A line of the lab itself, to stderr."""
        self._write(sys.stderr, text + "\n")

    def settle(self, machine: str) -> None:
        """Waits a moment for the last lines of a machine that has ended."""
        for reader in self._readers.get(machine, ()):
            reader.join(1.0)

    def last(self, machine: str) -> tuple[str, ...]:
        """The last lines of a machine."""
        return tuple(self._last[machine])

    def finish(self) -> None:
        """Waits a moment for everything to be shown."""
        for machine in self._readers:
            self.settle(machine)

    def _read(self, machine: str, stream: IO[bytes], out: TextIO) -> None:
        with stream:
            while raw := stream.readline(LONGEST):
                line = raw.decode(errors="replace").rstrip("\r\n")
                self._last[machine].append(line)
                if machine in self._shown and self.failure is None:
                    self._write(out, f"{machine:<{self._width}} | {line}\n")

    def _write(self, out: TextIO, text: str) -> None:
        with self._lock:
            try:
                out.write(text)
                out.flush()
            except OSError as error:  # the disk is full, or nobody reads any more
                self.failure = error
