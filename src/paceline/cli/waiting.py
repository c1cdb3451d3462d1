"""What a terminal shows while a command works: nothing for one second, then one moving line."""

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

PATIENCE_S = 1.0


@contextmanager
def waiting(what: str) -> Generator[None]:
    """Shows `what` on stderr, if that is a terminal, from the second second on."""
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
