"""What a terminal shows while a command works: nothing for one second, then one moving line.

Where machine code must be made first, that is said at once, on a terminal or not: it happens once
on a machine, and takes longer than most runs.
"""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

PATIENCE_S = 1.0
COMPILING = "Compiling for this machine; this happens once and takes some seconds."


@contextmanager
def waiting(what: str) -> Generator[None]:
    """Shows `what` on stderr, if that is a terminal, from the second second on."""
    with _telling_of_compilation():
        if not sys.stderr.isatty():
            yield
            return
        done = threading.Event()
        shower = threading.Thread(target=_show, args=(what, done), daemon=True)
        shower.start()
        try:
            yield
        finally:
            done.set()
            shower.join()


def _show(what: str, done: threading.Event) -> None:
    if done.wait(PATIENCE_S):
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(what)):
        done.wait()


@contextmanager
def _telling_of_compilation() -> Generator[None]:
    """Numba announces each function that it compiles, those from its cache left out."""
    from numba.core import event

    class Teller(event.Listener):
        told = False

        def on_start(self, event: event.Event) -> None:  # noqa: ARG002  numba asks so
            if COMPILING and not self.told:
                self.told = True
                clear = "\r\x1b[2K" if sys.stderr.isatty() else ""
                sys.stderr.write(f"{clear}{COMPILING}\n")
                sys.stderr.flush()

        def on_end(self, event: event.Event) -> None:
            """Nothing: the work goes on."""

    with cast(Any, event).install_listener("numba:compile", Teller()):
        yield
