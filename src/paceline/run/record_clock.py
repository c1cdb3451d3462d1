"""Clock exchanges between workers: who asks hears what the peer's clock showed in between.

Each worker listens on a socket of its own and asks worker 0 and the worker before it. Sockets and
not the job's own groups, because a group that one worker does not join would hang the job, while a
peer that does not answer here costs at most a bounded wait. Addresses and secrets go through the
store that the job met at; who does not know the secret is not answered.
"""

import os
import secrets
import selectors
import socket
import struct
import threading
import time
from contextlib import suppress

SECRET = 16  # bytes
_ASKED, _KEPT = 48, 8
_WAIT_S = 1.0  # for one answer or connection
_MOST_S = 2.0  # for all exchanges with one peer
_ANSWER = struct.Struct("!q")
_ELSEWHERE = "192.0.2.1"  # an address that is nobody's (RFC 5737)

Ping = tuple[int, int, int]  # sent, the peer's clock, received


def own_address() -> str:
    """The address by which other workers reach this one: on the way to the job's master.

    A machine often calls itself a loopback address; with several machines that is of no use.
    """
    alone = os.environ.get("LOCAL_WORLD_SIZE") == os.environ.get("WORLD_SIZE")
    found = [_way_to(host) for host in (os.environ.get("MASTER_ADDR"), _ELSEWHERE) if host]
    usable = [one for one in found if one and (alone or not one.startswith(("127.", "::1")))]
    return (usable or [one for one in found if one] or ["127.0.0.1"])[0]


def _way_to(host: str) -> str | None:
    """The own address from which a packet to the host would leave; none is sent."""
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


class Answers:
    """Answers other workers with this worker's clock, in a thread, until closed."""

    def __init__(self, address: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind((address, 0))
        self.listener.listen(128)
        self.listener.setblocking(False)
        self.address: tuple[str, int] = (address, int(self.listener.getsockname()[1]))
        self.secret = secrets.token_bytes(SECRET)
        self.waiting = selectors.DefaultSelector()
        self.waiting.register(self.listener, selectors.EVENT_READ, b"")
        self.known: set[int] = set()
        self.over = False
        self.thread = threading.Thread(target=self._serve, name="paceline clock", daemon=True)
        self.thread.start()

    def close(self, patience_s: float) -> None:
        """Ends when all who asked have left, at the latest after `patience_s`."""
        until = time.monotonic() + patience_s
        while self.known and time.monotonic() < until and self.thread.is_alive():
            time.sleep(0.01)
        self.over = True
        self.thread.join(_WAIT_S)

    def _serve(self) -> None:
        try:
            while not self.over:
                for key, _ in self.waiting.select(0.25):
                    if key.fileobj is self.listener:
                        self._accept()
                    elif isinstance(key.fileobj, socket.socket):
                        self._answer(key.fileobj, key.data)
        finally:
            for key in list(self.waiting.get_map().values()):
                if isinstance(key.fileobj, socket.socket):
                    key.fileobj.close()
            self.waiting.close()

    def _accept(self) -> None:
        with suppress(OSError):
            peer, _ = self.listener.accept()
            peer.setblocking(False)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.waiting.register(peer, selectors.EVENT_READ, b"")

    def _answer(self, peer: socket.socket, said: bytes) -> None:
        now = time.time_ns()
        number = peer.fileno()
        try:
            heard = peer.recv(SECRET - len(said))
            if heard and number in self.known:
                peer.sendall(_ANSWER.pack(now))
                return
        except OSError:
            heard = b""
        said += heard
        if heard and len(said) < SECRET:
            self.waiting.modify(peer, selectors.EVENT_READ, said)
        elif heard and secrets.compare_digest(said, self.secret):
            self.known.add(number)
            self.waiting.modify(peer, selectors.EVENT_READ, b"")
        else:
            self.known.discard(number)
            self.waiting.unregister(peer)
            peer.close()


class Asker:
    """Asks one peer for its clock, over a connection that lasts."""

    def __init__(self, peer: int, address: tuple[str, int], secret: bytes) -> None:
        self.peer = peer
        self.line = socket.create_connection(address, timeout=_WAIT_S)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line.sendall(secret)

    def pings(self) -> list[Ping]:
        """The fastest of many exchanges, whose bounds on the other clock are the tightest."""
        found: list[Ping] = []
        until = time.monotonic() + _MOST_S
        while len(found) < _ASKED and time.monotonic() < until:
            sent = time.time_ns()
            self.line.sendall(b"?")
            answer = self.line.recv(_ANSWER.size, socket.MSG_WAITALL)
            received = time.time_ns()
            if len(answer) < _ANSWER.size:
                break
            found.append((sent, int(_ANSWER.unpack(answer)[0]), received))
        return sorted(found, key=lambda ping: ping[2] - ping[0])[:_KEPT]

    def close(self) -> None:
        """Leaves; the peer need not wait any more."""
        self.line.close()
