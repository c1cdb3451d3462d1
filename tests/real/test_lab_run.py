"""`paceline lab run` as a user types it: torchrun on two machines, and what can go wrong."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paceline import lab
from paceline.lab import Wires
from paceline.model import Cluster, Machine, PacelineError

TWO = "machines: [{name: m0, slots: 1}, {name: m1, slots: 1}]\n"
LINKS = "links: [{a: m0, b: s, rate: 200Mbit}, {a: m1, b: s, rate: 200Mbit, latency: 1ms}]\n"

TRAIN = """
import json, os, socket
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
values = torch.full((500_000,), float(dist.get_rank() + 1))
dist.all_reduce(values)
said = {
    "rank": dist.get_rank(), "workers": dist.get_world_size(), "sum": values[-1].item(),
    "host": socket.gethostname(), "machine": os.environ["PACELINE_MACHINE"],
    "threads": os.environ["OMP_NUM_THREADS"],
}
dist.destroy_process_group()
print(json.dumps(said), flush=True)
"""


def paceline(*words: str) -> list[str]:
    return [sys.executable, "-m", "paceline", "lab", *words]


def ran(*words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(paceline(*words), capture_output=True, text=True, timeout=timeout)


@pytest.fixture
def two(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(TWO)
    return str(path)


@pytest.fixture
def linked(tmp_path: Path) -> str:
    with lab.up(Cluster(machines=(Machine(name="m"),))) as session:
        if session.mode == "loopback":
            pytest.skip(f"needs namespaces: {session.notes}")
    path = tmp_path / "linked.yaml"
    path.write_text(TWO + LINKS)
    return str(path)


def test_torchrun_needs_no_flags(linked: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch")
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    done = ran("run", linked, "--timeout", "120s", "--", "torchrun", str(script), timeout=180)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("lab: namespaces ")
    lines = sorted(re.findall(r"^(m\d) +\| (\{.*\})$", done.stdout, re.MULTILINE))
    said = [json.loads(line) for _, line in lines]
    assert [name for name, _ in lines] == ["m0", "m1"]
    assert [one["rank"] for one in said] == [0, 1]
    assert {(one["workers"], one["sum"], one["threads"]) for one in said} == {(2, 3.0, "1")}
    assert [one["host"] for one in said] == [one["machine"] for one in said] == ["m0", "m1"]


def test_the_machine_that_fails_first_is_told_with_its_last_lines(two: str) -> None:
    script = "echo working; if [ $PET_NODE_RANK = 1 ]; then echo ruined >&2; exit 7; fi; sleep 300"
    began = time.monotonic()
    done = ran("run", two, "--grace", "0.3s", "--", "sh", "-c", script)
    assert done.returncode == 7
    assert "error: machine m1 failed first, with code 7." in done.stderr
    assert "    ruined" in done.stderr
    assert "m0 | working" in done.stdout
    assert time.monotonic() - began < 20


def test_what_never_ends_is_ended(two: str) -> None:
    done = ran("run", two, "--timeout", "0.5s", "--", "sleep", "300")
    assert done.returncode == 1
    assert "did not end within 0.5 s" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_lab_ends_everything(two: str, number: int) -> None:
    script = "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    running = subprocess.Popen(
        paceline("run", two, "--", "sh", "-c", script),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    for _ in range(2):
        assert running.stdout.readline().endswith("ready\n")
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert sorted(out.splitlines()) == ["m0 | asked", "m1 | asked"]
    assert err.endswith("error: interrupted.\n")
    assert "Traceback" not in err


def test_a_full_disk_is_one_error(two: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            paceline("run", two, "--", "sh", "-c", "seq 10; sleep 300"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert done.returncode == 3
    assert "error: No space left on device." in done.stderr


def test_a_taken_port_is_told(two: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = ran("run", two, "--mode", "loopback", "--port", port, "--", "true")
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith(f"error: Port {port} is taken")


def test_loopback_says_that_it_emulates_nothing_and_still_runs(two: str) -> None:
    script = "echo $PET_NNODES $PET_NODE_RANK $PET_NPROC_PER_NODE $GLOO_SOCKET_IFNAME"
    done = ran("run", two, "--mode", "loopback", "--", "sh", "-c", script)
    assert done.returncode == 0
    assert done.stderr == "lab: loopback, links not emulated\n"
    assert sorted(done.stdout.splitlines()) == ["m0 | 2 0 1 lo", "m1 | 2 1 1 lo"]


def test_orphans_end_with_their_machine_on_loopback_too(two: str) -> None:
    length = f"{40_000 + os.getpid()}.5"
    done = ran("run", two, "--mode", "loopback", "--", "sh", "-c", f"setsid sleep {length} &")
    assert done.returncode == 0
    left = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if f"sleep\0{length}".encode() in path.read_bytes()
    ]
    assert left == []


def test_check_measures_what_the_file_asks(linked: str) -> None:
    words = ("check", linked, "--seconds", "0.3", "--json", "--tolerance", "30%")
    done = ran(*words, timeout=120)
    assert done.returncode == 0, done.stderr
    view = json.loads(done.stdout)
    assert set(view) == {"schema", "mode", "links", "machines"}
    assert [(row["a"], row["b"]) for row in view["links"]] == [
        ("m0", "s"), ("s", "m0"), ("m1", "s"), ("s", "m1"),
    ]  # fmt: skip
    for row in view["links"]:
        assert row["asked_bit_per_s"] == 200e6
        assert abs(row["measured_bit_per_s"] / 200e6 - 1) < 0.2
    assert [row["asked_latency_us"] for row in view["links"]] == [None, None, 1000.0, 1000.0]
    assert view["machines"][0] == {"name": "m0", "asked_cores": None, "measured_cores": None}


def test_a_killed_machine_is_no_failure_and_can_start_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    script = f"echo $PACELINE_MACHINE >> {starts}; sleep 1.5"
    alive: list[bool] = []

    def fault(wires: Wires, over: object) -> None:
        end = time.monotonic() + 10
        while not (starts.exists() and "m1" in starts.read_text()) and time.monotonic() < end:
            time.sleep(0.01)
        wires.kill("m1")
        alive.append(bool(wires.pids("m1")))
        wires.start("m1")

    cluster = Cluster(machines=(Machine(name="m0"), Machine(name="m1")))
    ended = lab.run(
        cluster, ["sh", "-c", script], env=os.environ, timeout_s=60, show="none", watch=fault
    )
    assert ended.code == 0
    assert alive == [False]
    assert sorted(starts.read_text().split()) == ["m0", "m1", "m1"]


def test_a_schedule_that_breaks_ends_the_run_with_its_error() -> None:
    def fault(wires: Wires, over: object) -> None:
        wires.kill("nobody")

    cluster = Cluster(machines=(Machine(name="m0"),))
    with pytest.raises(PacelineError, match="'nobody' is no machine"):
        lab.run(cluster, ["sleep", "300"], env=os.environ, timeout_s=60, show="none", watch=fault)
