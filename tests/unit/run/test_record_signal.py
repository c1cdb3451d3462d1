"""A worker that is asked to end does so, even while its main thread is deep in foreign code."""

import signal
import subprocess
import sys
import time

CODE = """
import ctypes, signal, sys
from paceline.run.record_signal import follow_signals
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
follow_signals(lambda: False)
print("ready", flush=True)
{wait}
"""


def ended(wait: str) -> tuple[int, float]:
    """The exit code after SIGTERM, and how long that took."""
    process = subprocess.Popen(
        [sys.executable, "-c", CODE.format(wait=wait)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)  # until it waits
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        return process.wait(20), time.monotonic() - began


def test_python_code_hears_of_the_signal_itself() -> None:
    code, took = ended("import time; time.sleep(60)")
    assert code == 7
    assert took < 2


def test_foreign_code_that_never_returns_is_ended() -> None:
    # a mutex that is locked twice waits on whatever signal comes, as a collective does
    code, took = ended(
        "mutex = ctypes.create_string_buffer(128)\n"
        "lock = ctypes.CDLL(None).pthread_mutex_lock\n"
        "lock(mutex)\nlock(mutex)"
    )
    assert code == -signal.SIGKILL
    assert 1 < took < 10
