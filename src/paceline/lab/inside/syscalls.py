"""System calls that Python 3.11 does not offer, for namespaces, mounts and dying with a parent.

Failures are OSErrors that name the call.
"""

import ctypes
import os

NEW_NAMES, NEW_HOST, NEW_USER, NEW_PIDS, NEW_NET = (
    0x00020000, 0x04000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip

MOUNT_BIND, MOUNT_REC, MOUNT_PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_SAFE = 0x2 | 0x4 | 0x8  # nosuid, nodev, noexec: what an unprivileged proc must have
DETACH = 2

_DEATH_SIGNAL, _TIMER_SLACK, _SUBREAPER = 1, 29, 36

_libc = ctypes.CDLL(None, use_errno=True)


def _called(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Takes this thread out of the namespaces of these kinds, into new ones."""
    _called("unshare", ctypes.c_int(flags))


def enter(namespace: int) -> None:
    """Takes this thread into the namespace that the file descriptor stands for."""
    _called("setns", ctypes.c_int(namespace), ctypes.c_int(0))


def mount(source: str, target: str, kind: str, flags: int) -> None:
    """Mounts a file system, or changes how one is mounted."""
    words = [ctypes.c_char_p(word.encode()) for word in (source, target, kind)]
    _called("mount", *words, ctypes.c_ulong(flags), None)


def unmount(target: str) -> None:
    """Takes the upmost mount from a place, even if in use."""
    _called("umount2", ctypes.c_char_p(target.encode()), ctypes.c_int(DETACH))


def name_host(name: str) -> None:
    """Sets the host name of this namespace."""
    raw = name.encode()[:63]
    _called("sethostname", ctypes.c_char_p(raw), ctypes.c_size_t(len(raw)))


def die_with_parent(signal: int) -> None:
    """Sends this process the signal when the thread that made it ends."""
    _control(_DEATH_SIGNAL, signal)


def adopt() -> None:
    """Orphans among the descendants of this process become its children."""
    _control(_SUBREAPER, 1)


def wake_exactly() -> None:
    """Timers of this thread are not rounded up by the kernel's usual 50 µs."""
    _control(_TIMER_SLACK, 1)


def _control(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _called("prctl", ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero)
