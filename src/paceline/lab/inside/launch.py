"""Runs one command on one machine of a lab, and ends with it; with the lab it dies, and all below.

Comes in as JSON: descriptors of the namespaces, of the lab's life line (a pipe that nobody writes
to: its end means that the lab is gone), host name, hosts, cgroup, command. The command gets its own
process numbers and /proc, so that killing the first process of them kills every one.

    this process (waits, passes signals on) -> the first process (reaps) -> the command
"""

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paceline.lab.inside import processes, syscalls

KILL = signal.SIGUSR1  # asks for the end of everything at once
PASSED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
NO_NAMES = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"  # nobody there: fails at once
CANNOT_ENTER, NOT_FOUND = 125, 127


def main(words: Sequence[str]) -> int:
    """The exit code of the command, 128 + n if signal n ended it."""
    order: dict[str, Any] = json.loads(words[0])
    try:
        if order["cgroup"]:
            Path(order["cgroup"], "cgroup.procs").write_text("0")
        if order["net"] is None:
            return _loopback(order)
        _enter(order)
        return _first_process(order)
    except OSError as error:
        sys.stderr.write(f"paceline lab: {order['host']}: {error}\n")
        return CANNOT_ENTER


def _enter(order: dict[str, Any]) -> None:
    for kind in ("user", "net"):
        if order[kind] is not None:
            syscalls.enter(order[kind])
            os.close(order[kind])
    syscalls.unshare(syscalls.NEW_NAMES | syscalls.NEW_HOST | syscalls.NEW_PIDS)
    syscalls.name_host(order["host"])
    syscalls.mount("none", "/", "none", syscalls.MOUNT_REC | syscalls.MOUNT_PRIVATE)
    # /proc is any folder that surely exists; it is mounted anew a moment later
    syscalls.mount("tmpfs", "/proc", "tmpfs", syscalls.MOUNT_SAFE)
    for name, text in (("hosts", order["hosts"]), ("resolv.conf", NO_NAMES)):
        if Path("/etc", name).exists():
            Path("/proc", name).write_text(text)
            syscalls.mount(f"/proc/{name}", f"/etc/{name}", "none", syscalls.MOUNT_BIND)
    syscalls.unmount("/proc")


def _first_process(order: dict[str, Any]) -> int:
    """Forks the first process of the new process numbers, and guards it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.close(order["life"])
        os._exit(_reaping(order, reader))
    os.close(reader)
    os.write(writer, b".")
    os.close(writer)
    return _guarded(order["life"], child, lambda: os.kill(child, signal.SIGKILL))


def _reaping(order: dict[str, Any], reader: int) -> int:
    """The life of the first process: a mount, the command, and every orphan's end."""
    try:
        syscalls.die_with_parent(signal.SIGKILL)
        if os.read(reader, 1) != b".":  # the parent died before the line above
            return CANNOT_ENTER
        os.close(reader)
        syscalls.mount("proc", "/proc", "proc", syscalls.MOUNT_SAFE)
    except OSError as error:
        sys.stderr.write(f"paceline lab: {order['host']}: {error}\n")
        return CANNOT_ENTER
    command = _command(order["command"])
    for number in PASSED:
        signal.signal(number, lambda received, _: _pass_on(command, received))
    while True:
        pid, status = os.wait()
        if pid == command:
            return _code(status)


def _loopback(order: dict[str, Any]) -> int:
    """Without namespaces: this process adopts and kills what the command leaves behind."""
    syscalls.adopt()
    command = _command(order["command"])
    try:
        return _guarded(order["life"], command, lambda: processes.kill_below(os.getpid()))
    finally:
        processes.kill_below(os.getpid())


def _command(command: list[str]) -> int:
    """The process of the command, leader of a session of its own."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        syscalls.die_with_parent(signal.SIGKILL)
        for number in (*PASSED, KILL, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, 4096)
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"paceline lab: {command[0]}: {error.strerror}\n")
        sys.stderr.flush()
    os._exit(NOT_FOUND)


def _guarded(life: int, child: int, kill: Callable[[], None]) -> int:
    """Waits for the child's end; passes signals on, and kills when the lab is gone."""
    for number in PASSED:
        signal.signal(number, lambda received, _: _pass_on(child, received))
    signal.signal(KILL, lambda _received, _frame: kill())
    end = os.pidfd_open(child)
    waited = [life, end]
    while True:
        ready, _, _ = select.select(waited, [], [])
        if end in ready:
            return _code(os.waitpid(child, 0)[1])
        kill()
        waited = [end]


def _pass_on(child: int, number: int) -> None:
    try:
        # a leader's whole session hears it; a first process, which leads none, passes it on
        if os.getpgid(child) == child:
            os.killpg(child, number)
        else:
            os.kill(child, number)
    except ProcessLookupError:
        return


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
