"""Runs a command whose workers are recorded, and says what the recording has left.

The command is changed in nothing but its environment. Whatever ends it, a signal included, its
exit code goes on to the caller, and nothing that was started here is left running.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from paceline import read
from paceline.loop.inject import environment
from paceline.model import InputError, Recording
from paceline.run.record_settings import Settings

HOOK = "paceline.run.hook"
_CALLS = "4096"  # of the flight recorder: a window has hundreds
_QUIET = "99"  # Kineto announces each start and stop; what fails, the recorder says itself
_PARTS = ("worker-*", "window-*", "attempt-*", "run.json")
_GRACE_S = 40.0  # torchrun gives its own workers 30 s
_LAST_S = 5.0


class _Stopped(Exception):  # noqa: N818  no error: somebody wants us to end
    """A signal that asks this process to end."""


def prepare(folder: Path, *, force: bool) -> None:
    """The folder exists, is empty and can be written to; else InputError.

    With `force` an earlier recording in it is removed, and what else lies there stays.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if force:
            _remove(folder)
        elif any(not path.name.startswith(".") for path in folder.iterdir()):
            earlier = any(True for part in _PARTS for _ in folder.glob(part))
            raise InputError(
                "holds an earlier recording." if earlier else "is not empty.",
                where=folder,
                cure="Name another folder; --force replaces what was recorded there.",
            )
        probe = folder / f".paceline-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"cannot be written to ({error.strerror or error}).",
            where=folder,
            expected="A recording needs a folder of its own.",
            cure="Name another one with -o.",
        ) from error


def _remove(folder: Path) -> None:
    for part in _PARTS:
        for path in folder.glob(part):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def record(
    command: Sequence[str],
    settings: Settings,
    *,
    aside: bool = False,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    latest_s: float | None = None,
) -> Recording:
    """What was recorded while the command ran, with its exit code.

    With `aside` the command's stdout goes to stderr, so that stdout is free for a page; with a
    `log` both go there. `env` is the environment that it would have without the recorder. It is
    ended after `latest_s`.
    """
    settings = Settings(
        folder=settings.folder.absolute(), windows=settings.windows, norms=settings.norms
    )
    given = {
        "TORCH_FR_BUFFER_SIZE": _CALLS,
        "KINETO_LOG_LEVEL": _QUIET,
        **(os.environ if env is None else env),
    }
    own = environment(given, HOOK, **settings.environment())
    with _stoppable(), ExitStack() as stack:
        out = None if log is None else stack.enter_context(log.open("wb"))
        process = subprocess.Popen(  # noqa: S603  the user's own command
            command,
            env=own,
            stdout=out or (sys.stderr.fileno() if aside else None),
            stderr=out,
        )
        code = _code(process, latest_s)
    return msgspec.structs.replace(read.recording(settings.folder), exit_code=code)


def _code(process: subprocess.Popen[bytes], latest_s: float | None) -> int:
    """The exit code of the command; as shells say it where a signal ended it."""
    asked = 0
    try:
        process.wait(latest_s)
    except subprocess.TimeoutExpired:
        asked = signal.SIGTERM
        process.terminate()
    except KeyboardInterrupt:
        asked = signal.SIGINT
        if not _from_terminal():  # a terminal sends it to the command as well
            process.send_signal(signal.SIGINT)
    except _Stopped:
        asked = signal.SIGTERM
        process.terminate()
    for last, wait_s in ((process.terminate, _GRACE_S), (process.kill, _LAST_S)):
        try:
            process.wait(wait_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt, _Stopped):
            last()
    code = process.wait()
    if asked:
        return 128 + asked
    return code if code >= 0 else 128 - code


def _from_terminal() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


@contextmanager
def _stoppable() -> Generator[None]:
    """SIGTERM ends the command first, then us."""

    def stop(number: int, frame: object) -> None:  # noqa: ARG001  as Python asks
        raise _Stopped

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread, which alone hears of signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
