"""A real lab: its links carry what they should, can be changed, and leave nothing behind.

Bounds are wide, since other work may run beside; `bench/lab_fidelity.py` has the strict figures.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.lab import up
from paceline.lab.inside.processes import below
from paceline.lab.measure import cores, link
from paceline.lab.session import Session
from paceline.model import Cluster, InputError, Link, Machine, RunError

MBIT = 125_000
MS = 1_000_000

CLUSTER = Cluster(
    machines=(Machine(name="m0"), Machine(name="m1", cores=1), Machine(name="m2")),
    links=(
        Link(a="m0", b="s", bytes_per_s=20 * MBIT, back_bytes_per_s=80 * MBIT),
        Link(a="s", b="m1", latency_ns=5 * MS),
        Link(a="m2", b="s"),
    ),
)
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 999), 0.7).recv(2)"
LISTEN = """
import socket
with socket.create_server(("", 999)) as server:
    print(flush=True)
    while True:
        server.accept()[0].send(b"ok")
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Session]:
    with up(CLUSTER) as session:
        if session.mode == "loopback":
            pytest.skip(f"needs namespaces: {session.notes}")
        yield session


def reaches(lab: Session, near: str, far: str) -> bool:
    """True if a machine can open a connection to another one, by name."""
    asking = lab.run(
        near, [sys.executable, "-I", "-S", "-c", CONNECT, far], stderr=subprocess.DEVNULL
    )
    return asking.wait(20) == 0


@pytest.fixture(scope="module")
def listening(lab: Session) -> Session:
    for machine in ("m1", "m2"):
        server = lab.run(
            machine, [sys.executable, "-I", "-S", "-c", LISTEN], stdout=subprocess.PIPE
        )
        assert server.stdout is not None
        with server.stdout:
            server.stdout.readline()
    return lab


def test_each_way_of_a_link_has_its_rate(lab: Session) -> None:
    there, back = link(lab, lab.layout.wires[0], 0.4)
    assert (there.a, there.b, back.a, back.b) == ("m0", "s", "s", "m0")
    assert there.asked_bit_per_s == 20e6
    assert there.measured_bit_per_s == pytest.approx(20e6, rel=0.15)
    assert back.measured_bit_per_s == pytest.approx(80e6, rel=0.15)
    assert there.measured_latency_us is not None
    assert there.measured_latency_us < 2000


def test_a_latency_is_added_each_way(lab: Session) -> None:
    there, _ = link(lab, lab.layout.wires[1], 0.3)
    assert there.measured_latency_us == pytest.approx(5000, rel=0.15)
    assert there.asked_bit_per_s is None


def test_bytes_are_counted_each_way(lab: Session) -> None:
    before = lab.bytes("m0", "s")
    link(lab, lab.layout.wires[0], 0.3)
    after = lab.bytes("m0", "s")
    assert after[0] - before[0] > 0.3 * 20 * MBIT
    assert after[1] - before[1] > 0.3 * 80 * MBIT
    assert lab.bytes("s", "m0") == after[::-1]


def test_machines_reach_each_other_by_name_until_a_link_is_cut(listening: Session) -> None:
    lab = listening
    assert reaches(lab, "m0", "m2")
    lab.cut("m2", "s")
    assert not reaches(lab, "m0", "m2")
    assert reaches(lab, "m0", "m1")
    lab.heal("s", "m2")
    assert reaches(lab, "m0", "m2")


def test_a_link_changes_while_the_lab_runs_and_is_itself_again(listening: Session) -> None:
    lab, wire = listening, listening.layout.wires[0]
    lab.limit("s", "m0", bytes_per_s=5 * MBIT, latency_ns=2 * MS, loss=None)
    there, back = link(lab, wire, 0.4)
    assert there.measured_bit_per_s == pytest.approx(5e6, rel=0.15)
    assert back.measured_bit_per_s == pytest.approx(5e6, rel=0.15)
    assert there.measured_latency_us == pytest.approx(2000, rel=0.2)
    assert reaches(lab, "m1", "m2")  # the switch still knows its other ways
    assert reaches(lab, "m0", "m1")
    lab.limit("m0", "s", bytes_per_s=None, latency_ns=None, loss=None)
    there, _ = link(lab, wire, 0.3)
    assert there.measured_bit_per_s == pytest.approx(20e6, rel=0.15)
    assert there.measured_latency_us is not None
    assert there.measured_latency_us < 1500


def test_a_machine_gets_its_part_of_a_core(lab: Session) -> None:
    if lab.groups is None:
        pytest.skip(f"needs namespaces of root and control groups: {lab.no_quota}")
    lab.quota("m1", 0.25)
    assert cores(lab, "m1", 0.25, 0.6) == pytest.approx(0.25, rel=0.25)
    lab.quota("m1", None)
    assert cores(lab, "m1", 1.0, 0.3) > 0.4


def test_processes_of_a_machine_are_known_and_end_at_once(lab: Session) -> None:
    run = lab.run("m2", ["sh", "-c", "sleep 300 & setsid sleep 300 & wait"])
    end = time.monotonic() + 10
    while len(lab.pids("m2")) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    pids = lab.pids("m2")
    names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]
    assert names.count("sleep") == 2
    assert lab.pids("m0") == ()
    lab.kill("m2")
    assert run.wait(1) != 0
    assert lab.pids("m2") == ()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_names_that_are_not_there_are_refused(lab: Session) -> None:
    with pytest.raises(InputError, match="is a switch"):
        lab.kill("s")
    with pytest.raises(InputError, match="No link joins"):
        lab.cut("m0", "m1")
    with pytest.raises(RunError, match="rate of 0"):
        lab.limit("m0", "s", bytes_per_s=0.0, latency_ns=None, loss=None)
    with pytest.raises(RunError, match="No command was given"):
        lab.start("m0")


def test_everything_a_lab_holds_goes_with_it() -> None:
    descriptors, children = len(list(Path("/proc/self/fd").iterdir())), below(os.getpid())
    with up(CLUSTER) as session:
        session.run("m0", ["sleep", "300"])
        groups = session.groups
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert below(os.getpid()) == children
    assert groups is None or not groups.folder.exists()


STANDING = """
import sys, time
from paceline.lab import up
from paceline.model import Cluster, Machine
machines = tuple(Machine(name=f"m{n}", cores=1) for n in range(2))
with up(Cluster(machines=machines)) as lab:
    for machine in machines:
        lab.run(machine.name, ["sh", "-c", f"sleep {sys.argv[1]} & setsid sleep {sys.argv[1]}"])
    while sum(len(lab.pids(machine.name)) for machine in machines) < 6:
        time.sleep(0.01)
    print(lab.mode, lab.groups.folder if lab.groups else "", flush=True)
    time.sleep(300)
"""


def alive(word: str) -> list[int]:
    """Processes whose command line holds the word."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words and b"sleep" in words:
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_lab_that_is_killed(number: int) -> None:
    length = f"{30_000 + os.getpid()}.5"  # a number that only these processes have
    standing = subprocess.Popen(
        [sys.executable, "-c", STANDING, length],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert standing.stdout is not None
    with standing.stdout:
        mode, _, folder = standing.stdout.readline().strip().partition(" ")
    assert len(alive(length)) == 4, mode
    standing.send_signal(number)
    standing.wait(20)
    end = time.monotonic() + 10
    while alive(length) and time.monotonic() < end:
        time.sleep(0.02)
    assert alive(length) == []
    if folder:
        assert Path(folder).exists() == (number == signal.SIGKILL)
        with up(Cluster(machines=(Machine(name="m"),))):
            assert not Path(folder).exists()


def test_a_user_namespace_gives_links_but_no_quotas() -> None:
    try:
        with up(CLUSTER, mode="user") as session:
            there, _ = link(session, session.layout.wires[0], 0.3)
            assert there.measured_bit_per_s == pytest.approx(20e6, rel=0.15)
    except RunError as error:
        pytest.skip(f"needs namespaces: {error}")


UNPRIVILEGED = """
import json, subprocess
from paceline.lab import up
from paceline.model import Cluster, Machine
with up(Cluster(machines=(Machine(name="m0", cores=1), Machine(name="m1")))) as lab:
    run = lab.run("m1", ["sh", "-c", "hostname; ip -o -4 address"], stdout=subprocess.PIPE)
    said = run.communicate(timeout=20)[0].decode()
    print(json.dumps([lab.mode, lab.notes, said]))
"""


def test_without_root_the_lab_says_what_it_cannot_do() -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs namespaces of root, to do without")
    # may look into folders, as this Python may lie in root's own
    look = "+dac_read_search"
    drop = ["--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={look}"]
    drop += [f"--ambient-caps={look}", f"--bounding-set=-all,{look}"]
    done = subprocess.run(
        ["setpriv", *drop, sys.executable, "-c", UNPRIVILEGED],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    mode, notes, said = json.loads(done.stdout)
    if mode == "loopback":
        pytest.skip(f"needs namespaces for users: {notes}")
    assert mode == "user"
    assert "cores of machines are not limited" in notes[0]
    assert said.startswith("m1\n")
    assert "10.211.0.2/32" in said
