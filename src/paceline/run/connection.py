"""One peer: its socket, how far the message under way has come in each direction, and checks of it.

A message begins with a header that both ends know beforehand. If it is another one than expected,
the workers do not carry out the same program, and that is said before any number is wrong.
"""

import socket
import struct

from paceline.model import RunError

_HEADER = struct.Struct("<QQII")  # job, bytes, number, chunk


class Connection:
    """What is under way to and from one peer; nothing here waits."""

    def __init__(self, peer: int, rank: int, line: socket.socket) -> None:
        self.peer = peer  # position among the workers of the job
        self.rank = rank
        self.line = line
        self.out_bytes = 0  # of the message under way, its header included
        self.in_bytes = 0
        self.out_began_ns = self.in_began_ns = 0
        self.sent = self.received = 0  # messages so far: their sequence numbers
        self.interest = 0  # events that the poll waits for
        self._header = bytearray(_HEADER.size)

    def send(self, head: tuple[int, int, int, int], payload: memoryview, most: int) -> int:
        """Bytes of the message that are out, header included; -1 if nothing fits now."""
        at = self.out_bytes - _HEADER.size
        try:
            if at < 0:
                parts = [_HEADER.pack(*head)[self.out_bytes :], payload[:most]]
                count = self.line.sendmsg(parts)
            else:
                count = self.line.send(payload[at : at + most])
        except BlockingIOError:
            return -1
        except OSError as error:
            raise lost(self.rank, error) from error
        self.out_bytes += count
        return self.out_bytes - _HEADER.size

    def left(self, payload_bytes: int) -> int:
        """Bytes of the message that are still to be sent, header included."""
        return payload_bytes + _HEADER.size - self.out_bytes

    def receive_head(self, head: tuple[int, int, int, int]) -> bool:
        """True once the header of the message is here, and is the expected one."""
        if self.in_bytes >= _HEADER.size:
            return True
        count = self.receive(memoryview(self._header)[self.in_bytes :])
        if count < 0:
            return False
        self.in_bytes += count
        if self.in_bytes < _HEADER.size:
            return False
        came = _HEADER.unpack(self._header)
        if came != head:
            raise RunError(
                f"worker {self.rank} sent message {came[2]}.{came[3]} of bucket number {came[0]},"
                f" {came[1]} bytes, where {head[2]}.{head[3]} of {head[0]}, {head[1]} bytes,"
                " was due.",
                expected="All workers train the same model with the same plan.",
                cure="Compare plan, model and versions of the workers.",
            )
        return True

    def receive(self, into: memoryview) -> int:
        """How many bytes came, -1 if none are here now."""
        try:
            count = self.line.recv_into(into)
        except BlockingIOError:
            return -1
        except OSError as error:
            raise lost(self.rank, error) from error
        if not count:
            raise lost(self.rank, None)
        return count

    def close(self) -> None:
        """The peer learns at once that nothing more comes."""
        self.line.close()


def lost(peer: int, why: OSError | None) -> RunError:
    """The error of a peer that is gone."""
    told = f" ({why.strerror})" if why is not None and why.strerror else ""
    return RunError(
        f"the connection to worker {peer} is lost{told}.",
        cure="Look at the output of that worker: it has crashed, was stopped or left training.",
    )
