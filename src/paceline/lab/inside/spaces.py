"""Makes the network namespaces of a lab and hands them over as file descriptors, then ends.

A namespace lives as long as somebody holds its descriptor or a process is in it, so when the lab is
gone, however it ended, nothing of them is left. With the word `user` all belong to a new user
namespace, in which this user is root.
"""

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from paceline.lab.inside.syscalls import NEW_NET, NEW_USER, unshare

# (where under /proc/sys/net, value, needed). One congestion control for all labs: the usual one,
# which takes no pauses of its own as bbr does every ten seconds.
SETTINGS = (
    ("ipv4/ip_forward", "1", True),
    ("ipv4/conf/all/rp_filter", "0", True),
    ("ipv4/conf/default/rp_filter", "0", True),
    ("ipv4/conf/all/send_redirects", "0", False),
    ("ipv4/conf/default/send_redirects", "0", False),
    ("ipv4/tcp_congestion_control", "cubic", False),
    ("ipv4/tcp_no_metrics_save", "1", False),
    ("ipv6/conf/all/disable_ipv6", "1", False),
    ("ipv6/conf/default/disable_ipv6", "1", False),
)


def main(words: Sequence[str]) -> int:
    """Sends the user namespace, if asked for, then `count` network namespaces."""
    socket_fd, count, kind = int(words[0]), int(words[1]), words[2]
    try:
        with socket.socket(fileno=socket_fd) as door:
            if kind == "user":
                _own_user()
                _send(door, "/proc/self/ns/user")
            for _ in range(count):
                unshare(NEW_NET)
                _set()
                _send(door, "/proc/self/ns/net")
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error} {error.filename or ''}".strip())
        return 1
    return 0


def _own_user() -> None:
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _set() -> None:
    for place, value, needed in SETTINGS:
        try:
            Path("/proc/sys/net", place).write_text(value)
        except OSError:
            if needed:
                raise


def _send(door: socket.socket, path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    socket.send_fds(door, [b"."], [fd])
    os.close(fd)
