"""One job under way over the connections: whatever may go is sent, received and added.

What is to be added comes into a piece of memory that stays in the caches, and is added when the
piece is full; what is to be taken comes straight to its place. Nothing here waits.
"""

import select
import time
from collections.abc import Mapping
from typing import Any

import torch

from paceline.reduce import Course
from paceline.run.connection import Connection
from paceline.run.job import Job, bytes_of
from paceline.run.pacing import Pace
from paceline.run.stamps import RECV, SEND, Stamp

NEVER_S = 3600.0


class Incoming:
    """What comes from one peer during a job."""

    __slots__ = ("connection", "filled", "line", "room", "scratch")

    def __init__(self, connection: Connection, line: list[int], piece: torch.Tensor, job: Job):
        self.connection = connection
        self.line = line
        self.filled = 0  # bytes of the piece
        own = piece[: len(piece) // job.item * job.item]
        self.room = bytes_of(own)
        typed = own.view(job.tensor.dtype)
        self.scratch: Any = typed if job.array is job.tensor else typed.numpy()


class Work:
    """A job's course, and the connections that wait to go on with it."""

    def __init__(
        self,
        job: Job,
        connections: Mapping[int, Connection],
        pieces: Mapping[int, torch.Tensor],
        pace: Pace | None,
        before: list[int],
    ) -> None:
        self.job = job
        self.course = Course(job.messages)
        self.pace = pace
        self.most = len(next(iter(pieces.values()))) if pieces else 0
        self.out = [(connections[peer], line) for peer, line in self.course.outgoing.items()]
        self.into = [
            Incoming(connections[peer], line, pieces[peer], job)
            for peer, line in self.course.incoming.items()
        ]
        self.blocked: dict[Connection, int] = {}
        self.resumes_s = NEVER_S
        self.before = before  # stamps with which the job before this one ended
        self.events: dict[int, int] = {}  # stamps of messages that are over
        self.begun: set[tuple[int, bool]] = set()  # lines of which something is stamped

    def moved(self) -> bool:
        """Lets everything go as far as it can without waiting; false if nothing could."""
        self.blocked.clear()
        self.resumes_s = NEVER_S
        some = False
        for one in self.into:
            some |= bool(one.line) and self._received(one)
        for one, line in self.out:
            some |= bool(line) and self._sent(one, line)
        return some

    def _sent(self, one: Connection, line: list[int]) -> bool:
        job, number = self.job, line[-1]
        message = self.course.messages[number]
        if self.course.ready(line) < 0:
            return False
        payload = job.bytes[message.begin * job.item : message.end * job.item]
        most = self.most
        if self.pace is not None:
            wanted = min(most, one.left(len(payload)))
            most = self.pace.allowed(time.monotonic_ns(), wanted)
            if not most:
                self.resumes_s = min(self.resumes_s, self.pace.wait_s(wanted))
                return False
        if job.stamps is not None and not one.out_began_ns:
            one.out_began_ns = time.time_ns()
        head = job.number, len(payload), message.hop.number, message.chunk
        before = one.out_bytes
        sent = one.send(head, payload, most)
        if sent < 0 and one.out_bytes == before:
            self.blocked[one] = self.blocked.get(one, 0) | select.POLLOUT
            return False
        if self.pace is not None:
            self.pace.spent(one.out_bytes - before)
        if sent == len(payload):
            self.course.moved(line, message.end)
            if job.stamps is not None:
                self._stamped(number, one, one.out_began_ns, one.sent)
            one.out_bytes = one.out_began_ns = 0
            one.sent += 1
        return True

    def _received(self, own: Incoming) -> bool:
        job, one, line = self.job, own.connection, own.line
        number = line[-1]
        message = self.course.messages[number]
        limit, at = self.course.ready(line), self.course.at[number]
        if limit <= at:
            return False
        if job.stamps is not None and not one.in_began_ns:
            one.in_began_ns = time.time_ns()
        size = (message.end - message.begin) * job.item
        if not one.receive_head((job.number, size, message.hop.number, message.chunk)):
            self.blocked[one] = self.blocked.get(one, 0) | select.POLLIN
            return False
        adds = message.hop.adds
        if adds:
            into = own.room[: (limit - at) * job.item]
        else:
            into = job.bytes[at * job.item : limit * job.item]
        count = one.receive(into[own.filled : own.filled + self.most])
        if count < 0:
            self.blocked[one] = self.blocked.get(one, 0) | select.POLLIN
            return False
        own.filled += count
        if own.filled < len(into):
            return True
        own.filled = 0
        end = at + len(into) // job.item
        if adds:
            job.added(at, end, own.scratch[: end - at], completes=message.hop.completes)
        if self.course.moved(line, end):
            if job.stamps is not None:
                self._stamped(number, one, one.in_began_ns, one.received)
            one.in_bytes = one.in_began_ns = 0
            one.received += 1
        return True

    def _stamped(self, number: int, one: Connection, began_ns: int, sequence: int) -> None:
        """Stamps a message that is over; what it waited for are stamps as well."""
        job, message = self.job, self.course.messages[number]
        stamps = job.stamps
        if stamps is None:
            return
        sends = message.hop.sends
        after = [self.events[before] for before in message.after if before in self.events]
        if (one.peer, sends) not in self.begun:
            self.begun.add((one.peer, sends))
            after += [job.issued, *self.before]
        size = (message.end - message.begin) * job.item
        at = stamps.add(
            job.group,
            Stamp(
                SEND if sends else RECV, began_ns, time.time_ns(), one.rank, sequence,
                job.bucket, message.chunk, message.hop.round, size, message.hop.adds,
            ),
            after,
        )  # fmt: skip
        self.events[number] = at
        if not (self.course.outgoing if sends else self.course.incoming)[one.peer]:
            job.lasts.append(at)
