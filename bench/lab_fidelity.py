"""How closely a lab does what its cluster file asks for: link rates, delays, parts of a core.

Rates are what TCP carries of data, each way of a link on its own. Delays are half the round trip of
small datagrams, on an idle link and beside a stream of 100 and 200 Mbit/s. Parts of a core are the
processor time of a busy process under its quota.

    python bench/lab_fidelity.py [--rounds 5] [--json]
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass

from paceline.lab import up
from paceline.lab.measure import cores, link
from paceline.lab.session import SHOWN, Session
from paceline.model import Cluster, Link, Machine

RATES_MBIT = (10, 100, 1000)
DELAYS_MS = (1, 5, 20)
LOADS_MBIT = (0, 100, 200)
SHARES = (0.25, 0.5, 1.0)
RATE_LIMIT, DELAY_LIMIT, SHARE_LIMIT = 0.05, 0.10, 0.05
WINDOW_S = 1.0

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7001))
print(flush=True)
while True:
    data, asker = s.recvfrom(64)
    s.sendto(data, asker)
"""
PINGS = """
import json, socket, statistics, sys, time
address, rounds, window = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
medians = []
for _ in range(rounds):
    trips, end = [], time.perf_counter() + window
    while time.perf_counter() < end:
        began = time.perf_counter()
        s.sendto(b"p" * 32, (address, 7001))
        s.recv(64)
        trips.append((time.perf_counter() - began) / 2)
        time.sleep(0.003)
    medians.append(statistics.median(trips) * 1000)
print(json.dumps(medians))
"""
SINK = """
import socket
with socket.create_server(("", 7002)) as server:
    print(flush=True)
    stream = server.accept()[0]
buffer = bytearray(2**20)
while stream.recv_into(buffer):
    pass
"""
STREAM = """
import socket, sys, time
address, bit_per_s = sys.argv[1], float(sys.argv[2])
stream = socket.create_connection((address, 7002))
began, sent, part = time.perf_counter(), 0, bytes(2**15)
while True:
    stream.sendall(part)
    sent += len(part)
    time.sleep(max(0.0, sent * 8 / bit_per_s - (time.perf_counter() - began)))
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing that was asked for, and every measurement of it."""

    what: str
    unit: str
    asked: float
    limit: float
    measured: list[float]
    beside_mbit_per_s: float | None = None  # of the stream, as the interface counted

    @property
    def error(self) -> float:
        return statistics.median(self.measured) / self.asked - 1


def rates(rounds: int) -> list[Row]:
    links = tuple(
        Link(a=f"m{at}", b="s", bytes_per_s=rate * 125_000) for at, rate in enumerate(RATES_MBIT)
    )
    machines = tuple(Machine(name=each.a) for each in links)
    found: dict[tuple[int, str], list[float]] = {}
    with up(Cluster(machines=machines, links=links)) as lab:
        for _ in range(rounds):
            for wire, asked in zip(lab.layout.wires, RATES_MBIT, strict=True):
                for row, way in zip(link(lab, wire, 0.7), ("there", "back"), strict=True):
                    assert row.measured_bit_per_s is not None
                    found.setdefault((asked, way), []).append(row.measured_bit_per_s / 1e6)
    return [
        Row(what=f"rate {asked} Mbit/s, {way}", unit="Mbit/s", asked=asked, limit=RATE_LIMIT,
            measured=measured)
        for (asked, way), measured in found.items()
    ]  # fmt: skip


def started(lab: Session, machine: str, code: str, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-c", code, *words]
    return lab.run(machine, command, stdout=subprocess.PIPE)


def line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    with process.stdout:
        return process.stdout.readline()


def delay(milliseconds: int, load: int, rounds: int) -> Row:
    machines = (Machine(name="a"), Machine(name="b"))
    links = (Link(a="a", b="b", latency_ns=milliseconds * 1_000_000),)
    with up(Cluster(machines=machines, links=links)) as lab:
        line(started(lab, "b", ECHO))
        if load:
            line(started(lab, "b", SINK))
            lab.run("a", [sys.executable, "-I", "-S", "-c", STREAM, "b", str(load * 1e6)])
        line(started(lab, "a", PINGS, "b", "1", "0.5"))  # until the stream has its rate
        before = lab.bytes("a", "b")[0]
        measured = json.loads(line(started(lab, "a", PINGS, "b", str(rounds), str(WINDOW_S))))
        passed = (lab.bytes("a", "b")[0] - before) * 8e-6 / (rounds * WINDOW_S)
    what = f"delay {milliseconds} ms, " + (f"beside {load} Mbit/s" if load else "idle link")
    return Row(
        what=what, unit="ms", asked=milliseconds, limit=DELAY_LIMIT, measured=measured,
        beside_mbit_per_s=passed if load else None,
    )  # fmt: skip


def shares(rounds: int) -> list[Row]:
    found: dict[float, list[float]] = {share: [] for share in SHARES}
    with up(Cluster(machines=(Machine(name="m"),))) as lab:
        if lab.groups is None:
            return []
        for _ in range(rounds):
            for share, measured in found.items():
                lab.quota("m", share)
                measured.append(cores(lab, "m", share, 1.0))
    return [
        Row(what=f"{share:g} of a core", unit="cores", asked=share, limit=SHARE_LIMIT, measured=m)
        for share, m in found.items()
    ]


def shown(row: Row) -> str:
    low, high = min(row.measured), max(row.measured)
    median = statistics.median(row.measured)
    beside = "" if row.beside_mbit_per_s is None else f" ({row.beside_mbit_per_s:.0f} passed)"
    met = "yes" if abs(row.error) <= row.limit else "**missed**"
    return (
        f"| {row.what}{beside} | {median:.4g} {row.unit} | {low:.4g} to {high:.4g} |"
        f" {row.error:+.1%} | {row.limit:.0%} | {met} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each figure")
    parser.add_argument("--json", action="store_true", help="the figures for a program")
    options = parser.parse_args()
    with up(Cluster(machines=(Machine(name="m"),))) as lab:
        mode = lab.mode
    rows: list[Row] = []
    if mode != "loopback":
        rows += rates(options.rounds)
        rows += [delay(ms, load, options.rounds) for ms in DELAYS_MS for load in LOADS_MBIT]
    rows += shares(options.rounds)
    if options.json:
        view = [asdict(row) | {"error": row.error} for row in rows]
        print(json.dumps({"schema": 1, "mode": mode, "figures": view}, indent=1))
        return
    missed = [row.what for row in rows if abs(row.error) > row.limit]
    print("## The lab\n")
    print("Asked: link rates within 5 % from 10 Mbit/s to 1 Gbit/s, delays within 10 % (also while")
    print("100 and 200 Mbit/s pass the link), parts of a core within 5 %. Measured by programs in")
    print(
        f"the lab's machines ({SHOWN[mode]}), {options.rounds} times each: rates as data over TCP"
    )
    print("in 0.7 s after a start of 0.3 s, delays as half the median round trip of datagrams of")
    print("32 bytes in 1 s, parts of a core as processor time of a busy process in 1 s.\n")
    print("| what | median | range | error of the median | asked | met |")
    print("|---|---:|---:|---:|---:|---|")
    for row in rows:
        print(shown(row))
    if mode == "loopback":
        print("\nNo namespaces can be made here, so links were not emulated: not measured.")
    print(f"\nMissed: {', '.join(missed) or 'none'}.")


if __name__ == "__main__":
    main()
