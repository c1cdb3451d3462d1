"""Holds every frame of delayed links back for as long as asked, where the kernel has no netem.

Each delayed link ends in two interfaces of this process's namespace; what one receives, the other
sends later. Orders come as lines of JSON on stdin, each answered by a line: `[link, ns]` adds a
link or changes its delay. Frames carry the kernel's header for segments that are still to be cut
and sums still to be made (PACKET_VNET_HDR), so one frame may hold 64 KB and few are needed.
"""

import json
import os
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Sequence

from paceline.lab.inside import syscalls

ALL_PROTOCOLS = 0x0003
PACKET, VNET_HEADER, IGNORE_OUTGOING = 263, 15, 23
FORCED_BUFFER, TIMESTAMP = 33, 35  # SO_RCVBUFFORCE, SO_TIMESTAMPNS
BUFFER = 2**25
LARGEST = 10 + 14 + 2**16  # a header for segments, one for the wire, a packet
BATCH = 64
MOST_HELD = 2**26  # bytes of one way; more are lost, as in a switch
PATH_NS = 25_000  # what a frame needs besides, through sockets and interfaces
LATEST_NS = 100_000
STAMP = struct.Struct("@qq")


def opened(device: str) -> socket.socket:
    """A socket that hears and sends whole frames on an interface."""
    own = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    own.setsockopt(PACKET, VNET_HEADER, 1)
    own.setsockopt(PACKET, IGNORE_OUTGOING, 1)
    own.setsockopt(socket.SOL_SOCKET, TIMESTAMP, 1)
    try:
        own.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, BUFFER)
    except OSError:  # only root may have more than the system's limit
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    own.bind((device, ALL_PROTOCOLS))
    own.setblocking(False)
    return own


class Way:
    """One way of a link: what was heard waits its time, then is sent."""

    def __init__(self, heard: socket.socket, sending: socket.socket, delay_ns: int) -> None:
        self.heard = heard
        self.sending = sending
        self.delay_ns = delay_ns
        self.waiting: deque[tuple[int, bytes]] = deque()
        self.held = 0

    def take(self) -> None:
        """Takes what has come, and notes when each frame is due: its arrival plus the delay."""
        ahead = time.time_ns() - time.monotonic_ns()  # stamps are of the clock that may be set
        for _ in range(BATCH):
            try:
                frame, extra, _, _ = self.heard.recvmsg(LARGEST, 64)
            except (BlockingIOError, OSError):
                return
            if self.held > MOST_HELD:
                continue
            now = time.monotonic_ns()
            came = now
            if extra:
                seconds, rest = STAMP.unpack_from(extra[0][2])
                came = min(now, max(now - 10**9, seconds * 10**9 + rest - ahead))
            self.waiting.append((came + self.delay_ns, frame))
            self.held += len(frame)

    def give(self, until_ns: int) -> None:
        """Sends what is due."""
        while self.waiting and self.waiting[0][0] <= until_ns:
            frame = self.waiting.popleft()[1]
            self.held -= len(frame)
            try:
                self.sending.send(frame)
            except OSError:  # the interface is gone or full: the frame is lost, as on a wire
                continue


class Delays:
    """All delayed links, by number."""

    def __init__(self) -> None:
        self.ways: dict[int, tuple[Way, Way]] = {}
        self.late_ns = 50_000.0  # by how much this process usually wakes too late

    def order(self, link: int, delay_ns: int) -> None:
        """Adds a link, or changes its delay from the next frame on."""
        if link not in self.ways:
            first, second = opened(f"a{link}"), opened(f"b{link}")
            self.ways[link] = (Way(first, second, 0), Way(second, first, 0))
        for way in self.ways[link]:
            way.delay_ns = delay_ns

    def turn(self, orders: int) -> bool:
        """Waits for a frame, a frame's time or an order; true if an order has come."""
        ways = [way for both in self.ways.values() for way in both]
        due = [way.waiting[0][0] for way in ways if way.waiting]
        early = PATH_NS + int(self.late_ns)
        asked = min(due) - early if due else 0
        rest = max(0, asked - time.monotonic_ns()) / 1e9 if due else None
        ready, _, _ = select.select([orders, *(way.heard for way in ways)], [], [], rest)
        for way in ways:
            if way.heard in ready:
                way.take()
        now = time.monotonic_ns()
        if rest and not ready:
            self.late_ns += 0.05 * (min(now - asked, LATEST_NS) - self.late_ns)
        for way in ways:
            way.give(now + early)
        return orders in ready


def main(words: Sequence[str]) -> int:  # noqa: ARG001  all scripts are called alike
    """Runs until its orders end."""
    syscalls.wake_exactly()
    delays = Delays()
    text = b""
    while True:
        if not delays.turn(sys.stdin.fileno()):
            continue
        more = os.read(sys.stdin.fileno(), 2**16)
        if not more:
            return 0
        *lines, text = (text + more).split(b"\n")
        for line in lines:
            link, delay_ns = json.loads(line)
            try:
                delays.order(link, delay_ns)
                answer = "ok"
            except OSError as error:
                answer = f"{error.strerror or error}"
            sys.stdout.write(answer + "\n")
            sys.stdout.flush()
