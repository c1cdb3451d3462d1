"""Measures from inside a lab: what one link carries each way, how late it is, what a core gives.

`serve` stands at one end of a link and `ask` at the other, both bound to the link's interface, so
that no other way is taken. `burn` keeps cores busy. Results are one line of JSON on stdout.
"""

import json
import os
import socket
import statistics
import sys
import time
from collections.abc import Sequence

TO_DEVICE = 25  # SO_BINDTODEVICE
PATIENCE_S = 20.0
CHUNK = 2**18
PING = b"p" * 32
WARM_S = 0.3
MOST_PINGS = 200


def main(words: Sequence[str]) -> int:
    """Dispatches: serve DEVICE · ask DEVICE ADDRESS TCP UDP SECONDS · burn SECONDS PROCESSES."""
    if words[0] == "serve":
        return _serve(words[1])
    if words[0] == "ask":
        return _ask(words[1], words[2], int(words[3]), int(words[4]), float(words[5]))
    return _burn(float(words[1]), int(words[2]))


def _bound(kind: socket.SocketKind, device: str) -> socket.socket:
    own = socket.socket(socket.AF_INET, kind)
    own.setsockopt(socket.SOL_SOCKET, TO_DEVICE, device.encode())
    own.settimeout(PATIENCE_S)
    return own


def _serve(device: str) -> int:
    """Answers pings until a connection comes, takes bytes on it, sends some on the next one."""
    stream, pings = _bound(socket.SOCK_STREAM, device), _bound(socket.SOCK_DGRAM, device)
    stream.bind(("", 0))
    stream.listen()
    pings.bind(("", 0))
    _say([stream.getsockname()[1], pings.getsockname()[1]])
    while True:
        ping, asker = pings.recvfrom(64)
        if ping != PING:
            break
        pings.sendto(ping, asker)
    with stream.accept()[0] as taking:
        taking.settimeout(PATIENCE_S)
        rate = _taken(taking)
        taking.sendall(json.dumps(rate).encode())
    with stream.accept()[0] as giving:
        giving.settimeout(PATIENCE_S)
        _given(giving, float(giving.recv(64)))
    return 0


def _ask(device: str, address: str, tcp: int, udp: int, seconds: float) -> int:
    """Says the round trips and both rates as bit/s."""
    with _bound(socket.SOCK_DGRAM, device) as pings:
        pings.connect((address, udp))
        trips = _trips(pings, seconds)
        pings.send(b"end")
    with _bound(socket.SOCK_STREAM, device) as giving:
        giving.connect((address, tcp))
        _given(giving, seconds + WARM_S + 4 * trips["median_us"] / 1e6)
        giving.shutdown(socket.SHUT_WR)
        there = json.loads(giving.recv(64))
    with _bound(socket.SOCK_STREAM, device) as taking:
        taking.connect((address, tcp))
        taking.sendall(str(seconds + WARM_S + 4 * trips["median_us"] / 1e6).encode())
        back = _taken(taking)
    _say({"there": there, "back": back, **trips})
    return 0


def _trips(pings: socket.socket, seconds: float) -> dict[str, float]:
    """Round trips; the first ones also look up the neighbor and are left out."""
    trips: list[float] = []
    end = time.perf_counter() + min(1.0, seconds)
    pings.settimeout(2.0)
    lost = 0
    while (time.perf_counter() < end and len(trips) < MOST_PINGS) or len(trips) < 8:
        began = time.perf_counter()
        pings.send(PING)
        try:
            pings.recv(64)
        except TimeoutError:
            lost += 1
            if lost > 3:
                raise
            continue
        trips.append((time.perf_counter() - began) * 1e6)
        time.sleep(0.002)
    kept = trips[3:]
    return {"median_us": statistics.median(kept), "least_us": min(kept)}


def _given(stream: socket.socket, seconds: float) -> None:
    """Sends for that long."""
    data = bytes(CHUNK)
    end = time.perf_counter() + seconds
    try:
        while time.perf_counter() < end:
            stream.send(data)
    except (BrokenPipeError, ConnectionResetError):  # the other end has enough
        return


def _taken(stream: socket.socket) -> float:
    """The rate in bit/s of what comes, the beginning left out."""
    buffer = bytearray(4 * CHUNK)
    began = last = time.perf_counter()
    first = size = 0
    start = 0.0
    while got := stream.recv_into(buffer):
        last = time.perf_counter()
        size += got
        if not start and last - began > WARM_S:
            start, first = last, size
    return (size - first) * 8 / (last - start) if start and last > start else 0.0


def _burn(seconds: float, processes: int) -> int:
    """Cores that so many busy processes get in all, on the mean over that time."""
    results: list[tuple[int, int]] = []
    for _ in range(processes):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            began, used = time.perf_counter(), time.process_time()
            while time.perf_counter() - began < seconds:
                pass
            share = (time.process_time() - used) / (time.perf_counter() - began)
            os.write(writer, str(share).encode())
            os._exit(0)
        results.append((child, reader))
    shares: list[float] = []
    for child, reader in results:
        os.waitpid(child, 0)
        shares.append(float(os.read(reader, 64)))
    _say(sum(shares))
    return 0


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
