"""Ends a worker that was asked to end while its main thread is deep inside of torch.

Python hears of a signal only between two of its own instructions; a worker whose peers are gone may
wait in a collective for minutes, and its launcher with it. So a thread hears of signals as well,
and ends the process where the main thread has not done so in time.
"""

import os
import signal
import threading
import time
from collections.abc import Callable

PATIENCE_S = 2.0  # for the main thread to come back
WRITING_S = 20.0  # if it is writing the recording


def follow_signals(writing: Callable[[], bool]) -> None:
    """From now on SIGTERM ends this process within seconds; for the main thread to call."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    if before != -1:  # somebody else follows signals
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(told)
        return
    process = os.getpid()
    threading.Thread(
        target=_follow, args=(heard, process, writing), name="paceline signals", daemon=True
    ).start()


def _follow(heard: int, process: int, writing: Callable[[], bool]) -> None:
    while signal.SIGTERM not in os.read(heard, 64):
        pass
    end = time.monotonic() + PATIENCE_S
    latest = time.monotonic() + WRITING_S
    while time.monotonic() < (latest if writing() else end):
        time.sleep(0.02)
    if os.getpid() == process:
        os.kill(process, signal.SIGKILL)
