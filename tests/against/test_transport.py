"""Gradients that travelled by our own transport, beside torch's: real workers on this machine.

One launch of four workers and one of three go through all algorithms; two more lose a worker.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch")

JOB = Path(__file__).with_name("transport_job.py")
LONGEST_S = 120


def started(what: str, workers: int, folder: Path) -> list[subprocess.Popen[bytes]]:
    """The processes of a job, by rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"WORLD_SIZE": str(workers), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    where |= {"OMP_NUM_THREADS": "1"}
    return [
        subprocess.Popen(
            [sys.executable, str(JOB), what, str(folder)],
            env=os.environ | where | {"RANK": str(rank)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for rank in range(workers)
    ]


def ended(job: list[subprocess.Popen[bytes]], but: int | None = None) -> list[int]:
    """The exit codes, once all have ended; one that stands still is killed at last."""
    codes: list[int] = []
    try:
        for rank, one in enumerate(job):
            if rank != but:
                _, said = one.communicate(timeout=LONGEST_S)
                assert one.returncode == 0 or but is not None, said.decode()[-2000:]
                codes.append(one.returncode)
    finally:
        for one in job:
            one.kill()
            one.wait()
            if one.stderr:
                one.stderr.close()
    return codes


def told(what: str, rank: int, folder: Path) -> list[dict]:
    return json.loads((folder / f"{what}{rank}.json").read_text())


@pytest.fixture(scope="module", params=[4, 3])
def equal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[list]:
    """What each worker found, by rank; all leave with exit code 0 in time."""
    folder = tmp_path_factory.mktemp(f"equal{request.param}")
    job = started("equal", request.param, folder)
    assert ended(job) == [0] * request.param
    return [told("equal", rank, folder) for rank in range(request.param)]


LIMITS = {"ring torch.bfloat16": 2e-2, "ring torch.float16": 2e-3}
LIMITS |= {f"batched {name} 65": 1e-2 for name in ("ring", "tree", "hierarchical", "forest", "ps")}


def test_gradients_are_those_of_torch_and_the_same_bits_everywhere(equal: list[list]) -> None:
    for rows in equal:
        compared = [row for row in rows if "off" in row]
        assert len(compared) == 5 * 4 + 9 + 5 * 3
        wrong = [row for row in compared if row["off"] > LIMITS.get(row["case"], 1e-6)]
        assert wrong == []
        assert [row for row in compared if not row["same"]] == []


def test_workers_with_different_plans_say_so(equal: list[list]) -> None:
    (first, *others) = [[row for row in rows if row["case"] == "another plan"] for rows in equal]
    for rank, (row,) in enumerate(others, 1):
        assert row["error"].startswith(f"worker {rank} follows another plan than worker 0")
    assert "does not answer" in first[0]["error"]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict]]:
    """What the workers left say when worker 1 is killed, and when it stands still."""
    found: dict[str, list[dict]] = {}
    for how in ("lost", "frozen"):
        folder = tmp_path_factory.mktemp(how)
        job = started(how, 3, folder)
        deadline = time.monotonic() + LONGEST_S
        rest = [job[0], job[2]]
        while any(one.poll() is None for one in rest) and time.monotonic() < deadline:
            time.sleep(0.05)
        hung = [one for one in rest if one.poll() is None]
        if how == "frozen":
            assert job[1].poll() is None
            job[1].send_signal(signal.SIGCONT)
        ended(job, but=1)
        assert hung == [], "a worker did not end"
        found[how] = [told(how, rank, folder)[0] for rank in (0, 2)]
    return found


@pytest.mark.parametrize(
    ("how", "says", "most_s"),
    [("lost", "connection to worker 1", 2.5), ("frozen", "nothing moved for 3 s", 5.5)],
)
def test_a_worker_that_is_gone_is_an_error_in_time(
    broken: dict[str, list[dict]], how: str, says: str, most_s: float
) -> None:
    rows = broken[how]
    assert any(says in row["error"] and "worker 1" in row["error"] for row in rows)
    for row in rows:
        assert "worker" in row["error"]
        assert row["took"] < most_s
        assert row["again"]  # the next step fails at once instead of hanging
        assert "paceline transport" not in row["alive"]
