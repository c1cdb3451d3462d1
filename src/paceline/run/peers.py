"""Connections between workers: each worker with those that its program talks to, and nobody else.

Every worker listens on the address by which it reaches the others, and tells it, with a port of the
system's choice, in the store of torch.distributed. Both ends prove that they know a random key from
that store before a byte of a gradient moves. What is sent later is neither encrypted nor signed.
"""

import contextlib
import fcntl
import hashlib
import hmac
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterable
from datetime import timedelta
from typing import Protocol

from paceline.model import RunError

_MAGIC = b"paceline transport 1"
_HELLO = struct.Struct(f"<{len(_MAGIC)}sII16s")
_PROOF = 32
_PATIENCE_S = 5.0  # for whoever knocks to prove who it is
_SIOCGIFADDR = 0x8915


class Store(Protocol):
    """What is asked of a store of torch.distributed."""

    def set(self, key: str, value: str) -> None: ...  # noqa: D102
    def get(self, key: str) -> bytes: ...  # noqa: D102
    def wait(self, keys: list[str], timeout: timedelta) -> None: ...  # noqa: D102
    def compare_set(self, key: str, expected: str, desired: str, /) -> bytes: ...  # noqa: D102


def connected(
    store: Store, me: int, peers: Iterable[int], timeout_s: float
) -> dict[int, socket.socket]:
    """A connection to each peer, by its position; RunError if one does not come in time."""
    deadline = time.monotonic() + timeout_s
    wanted = sorted(set(peers))
    if me == 0:
        store.set("key", secrets.token_hex(32))
    found: dict[int, socket.socket] = {}
    address = own_address()
    try:
        with _listening(address) as door:
            host, port = door.getsockname()[:2]
            store.set(f"at {me}", f"{port} {host}")
            key = told(store, "key", deadline, 0)
            for peer in (one for one in wanted if one < me):
                found[peer] = _knocked(store, key, me, peer, deadline)
            missing = {one for one in wanted if one > me}
            while missing:
                peer, line = _opened(door, key, me, missing, deadline)
                found[peer] = line
                missing.remove(peer)
    except BaseException:
        for line in found.values():
            line.close()
        raise
    for line in found.values():
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.setblocking(False)
    return found


def own_address() -> str:
    """The address of this machine that the other workers can reach; loopback where that will do."""
    name = os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        if name:
            with contextlib.suppress(OSError):  # has no such address: the way to the master counts
                packed = struct.pack("256s", name.encode()[:15])
                answer = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, packed)
                return socket.inet_ntoa(answer[20:24])
        master = os.environ.get("MASTER_ADDR", "127.0.0.1")
        try:
            kind, _, _, _, place = socket.getaddrinfo(master, 9, type=socket.SOCK_DGRAM)[0]
        except OSError as error:
            raise RunError(
                f"{master!r} cannot be found ({error}).",
                where="MASTER_ADDR",
                cure="Give an address that this machine knows.",
            ) from error
    with socket.socket(kind, socket.SOCK_DGRAM) as asked:
        asked.connect(place)  # sends nothing
        return asked.getsockname()[0]


def _listening(address: str) -> socket.socket:
    kind = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, 0), family=kind, backlog=1024)


def told(store: Store, key: str, deadline: float, peer: int) -> bytes:
    """What a peer wrote under the key; RunError if it does not in time."""
    left = max(deadline - time.monotonic(), 0.001)
    try:
        store.wait([key], timedelta(seconds=left))
        return store.get(key)
    except RuntimeError as error:  # torch's own errors of time and connection are such
        raise _absent(peer) from error


def _knocked(store: Store, key: bytes, me: int, peer: int, deadline: float) -> socket.socket:
    port, _, host = told(store, f"at {peer}", deadline, peer).decode().partition(" ")
    try:
        left = max(deadline - time.monotonic(), 0.001)
        line = socket.create_connection((host, int(port)), timeout=left)
    except OSError as error:
        raise _absent(peer) from error
    try:
        known = _introduced(line, key, me, peer)
    except OSError as error:
        line.close()
        raise _absent(peer) from error
    if not known:
        line.close()
        raise RunError(
            f"what answered for worker {peer} does not know this job's key.",
            where=f"{host}:{port}",
            cure="Look what else runs on that machine.",
        )
    return line


def _introduced(line: socket.socket, key: bytes, me: int, peer: int) -> bool:
    """True if the other end knows the key; then it has been shown that this end does."""
    hello = _HELLO.pack(_MAGIC, me, peer, secrets.token_bytes(16))
    line.sendall(hello)
    answer = _exactly(line, 16 + _PROOF)
    if not hmac.compare_digest(answer[16:], _proof(key, b"door", hello, answer[:16])):
        return False
    line.sendall(_proof(key, b"knock", hello, answer[:16]))
    return True


def _opened(
    door: socket.socket, key: bytes, me: int, missing: set[int], deadline: float
) -> tuple[int, socket.socket]:
    """The next peer that knocks and proves who it is; whoever cannot is sent away."""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise _absent(min(missing))
        door.settimeout(min(left, 1.0))
        try:
            line, _ = door.accept()
        except TimeoutError:
            continue
        line.settimeout(min(left, _PATIENCE_S))
        try:
            hello = _exactly(line, _HELLO.size)
            magic, peer, asked, _ = _HELLO.unpack(hello)
            nonce = secrets.token_bytes(16)
            if magic == _MAGIC and asked == me and peer in missing:
                line.sendall(nonce + _proof(key, b"door", hello, nonce))
                proof = _exactly(line, _PROOF)
                if hmac.compare_digest(proof, _proof(key, b"knock", hello, nonce)):
                    return peer, line
        except OSError:
            pass
        line.close()


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        if not piece:
            raise ConnectionResetError("closed")
        data += piece
    return data


def _proof(key: bytes, side: bytes, hello: bytes, nonce: bytes) -> bytes:
    return hmac.digest(key, side + hello + nonce, hashlib.sha256)


def _absent(peer: int) -> RunError:
    return RunError(
        f"worker {peer} does not answer.",
        expected="All workers call paceline.ddp with the same plan.",
        cure="Look at the output of that worker, and whether this machine can reach it.",
    )
