"""`paceline record` before real jobs: what is recorded is true, and the job does not notice."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from paceline import diagnose, model, read, stitch
from paceline.loop.inject import environment
from paceline.run.record_settings import Settings

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="needs torch: the extra is not installed"
)
HERE = Path(__file__).parent
JOB = HERE / "recorded_job.py"
WORKERS = 3  # no power of two: divided gradients would differ from multiplied ones
LIMIT_S = 120
CUT = (
    "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000));"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def torchrun(workers: int, *words: object) -> list[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*launcher, f"--nproc-per-node={workers}", *map(str, words)]


def launched(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=os.environ | {"OMP_NUM_THREADS": "1"} | env, capture_output=True, text=True,
        timeout=LIMIT_S,
    )  # fmt: skip


def recorded(run: Path, command: list[str], *flags: str) -> subprocess.CompletedProcess[str]:
    prefix = [sys.executable, "-m", "paceline", "record", "-o", str(run), *flags, "--"]
    return launched([*prefix, *command])


class Ran(NamedTuple):
    run: Path
    done: subprocess.CompletedProcess[str]
    found: list[dict]
    plain: list[dict]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The same job, recorded and not."""
    folder = tmp_path_factory.mktemp("record")
    outs = [folder / "recorded", folder / "plain"]
    for out in outs:
        out.mkdir()
    run = folder / "RUN"
    done = recorded(run, torchrun(WORKERS, JOB, outs[0]), "--window", "5:12", "--json")
    assert done.returncode == 0, done.stderr
    plain = launched(torchrun(WORKERS, JOB, outs[1]))
    assert plain.returncode == 0, plain.stderr
    each = [[json.loads((out / f"{r}.json").read_text()) for r in range(WORKERS)] for out in outs]
    return Ran(run, done, *each)


@pytest.mark.parametrize("case", ["plain", "views", "accumulated", "unused", "pair", "half"])
def test_gradients_and_parameters_are_equal_to_the_last_bit(ran: Ran, case: str) -> None:
    assert [found[case] for found in ran.found] == [found[case] for found in ran.plain]


def test_the_summary_says_what_is_there(ran: Ran) -> None:
    view = json.loads(ran.done.stdout)
    assert view["workers"] == list(range(WORKERS))
    assert (view["exit_code"], view["missing_workers"]) == (0, [])
    assert view["steps"] == 16 + 5 * 4
    (window,) = view["windows"]
    assert (window["first"], window["last"], window["workers"]) == (5, 12, WORKERS)


def test_losses_and_norms_are_those_of_a_direct_computation(ran: Ran) -> None:
    noise = stitch.profile(read.traces(ran.run)).noise
    for rank, found in enumerate(ran.found):
        own = (noise.worker == rank) & (noise.step < 16)
        told = np.stack([noise.loss[own], noise.local[own], noise.average[own]], axis=1)
        assert np.isfinite(told[:, 0]).all()
        taken = np.isfinite(told).all(axis=1)  # norms as often as there is time
        assert taken.sum() >= 4
        np.testing.assert_allclose(told[taken], np.array(found["norms"])[taken], rtol=1e-5)
    first = noise.step < 16
    local = noise.local[first].reshape(WORKERS, -1)
    average = noise.average[first].reshape(WORKERS, -1)
    taken = np.isfinite(local).all(axis=0)
    assert taken.any()
    # all workers hold the same averaged gradient, whose square is below the mean of squares
    assert (average[:, taken] == average[0, taken]).all()
    assert (average[0, taken] <= local[:, taken].mean(axis=0)).all()


def test_the_window_is_read_with_keys_and_clocks(ran: Ran) -> None:
    profile = stitch.profile(read.traces(ran.run))
    assert {timeline.step for timeline in profile.measured} <= set(range(5, 12))
    assert len(profile.measured) >= 5
    (found,) = [match for match in profile.matching if match.kind == "collective"]
    assert (found.key, found.unmatched) == ("group and sequence", 0)
    assert all(one.error_ns is not None and one.error_ns < 2e6 for one in profile.alignment)
    assert all(worker.peak_bytes for worker in profile.workers)
    assert diagnose.report(profile, stitch.cluster(profile)).checked


def test_pings_are_there_from_start_and_end(ran: Ran) -> None:
    for trace in read.traces(sorted(ran.run.glob("worker-*/steps.jsonl"))):
        peers = {ping.peer for ping in trace.pings}
        assert peers == {0, (trace.worker - 1) % WORKERS} - {trace.worker}
        assert all(ping.sent_ns <= ping.received_ns for ping in trace.pings)
        first, last = trace.pings[0], trace.pings[-1]
        assert last.sent_ns - first.sent_ns > 0.5 * np.ptp(trace.start_ns)


def test_coarse_events_alone_are_a_valid_trace(ran: Ran) -> None:
    traces = read.traces(sorted(ran.run.glob("worker-*/steps.jsonl")))
    for trace in traces:
        model.verify(trace)
        main = trace.lane == trace.lanes.index("main")
        order = np.argsort(trace.start_ns[main], kind="stable")
        starts, lasting = trace.start_ns[main][order], trace.duration_ns[main][order]
        assert (starts[1:] >= starts[:-1] + lasting[:-1]).all()
        assert {group.members for group in trace.groups} >= {tuple(range(WORKERS))}
    profile = stitch.profile(traces)
    (found,) = [match for match in profile.matching if match.kind == "collective"]
    assert (found.key, found.unmatched) == ("group and sequence", 0)
    assert any(group.members == (0, WORKERS - 1) for group in traces[0].groups)


def test_the_cover_sheet_lists_the_buckets(ran: Ran) -> None:
    cover = json.loads((ran.run / "run.json").read_text())
    assert (cover["size"], cover["finished"], cover["steps"]) == (WORKERS, True, 36)
    first = [bucket for bucket in cover["buckets"] if bucket["module"] == 0]
    assert len(first) > 1
    assert sum(bucket["size_bytes"] for bucket in first) == 4 * (17 * 300 + 301 * 300 + 301 * 10)
    for bucket in first:
        assert bucket["size_bytes"] == sum(tensor["size_bytes"] for tensor in bucket["tensors"])
        assert all(tensor["name"].endswith(("weight", "bias")) for tensor in bucket["tensors"])


def test_a_killed_worker_leaves_its_steps(tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    began = time.monotonic()
    done = recorded(run, torchrun(2, JOB, tmp_path, 9), "--window", "5:12", "--json")
    assert time.monotonic() - began < 60
    assert done.returncode == 1
    assert json.loads(done.stdout)["steps"] >= 8
    traces = read.traces(run)
    profile = stitch.profile(traces)
    assert [worker.rank for worker in profile.workers] == [0, 1]
    assert len(profile.measured) >= 7
    assert not list(run.glob(".*")) + list(run.glob("worker-*/.*"))
    assert diagnose.report(profile, stitch.cluster(profile)).checked


def test_a_full_disk_ends_the_recording_and_not_the_training(tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    limited = [sys.executable, "-c", CUT, *torchrun(2, JOB, tmp_path)]
    done = recorded(run, limited, "--window", "5:12")
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "the training goes on" in line]
    assert len(warnings) == 2
    assert "Traceback" not in done.stderr
    assert "steps" in done.stdout
    assert len(stitch.profile(read.traces(run)).measured) >= 4
    assert all((tmp_path / f"{rank}.json").exists() for rank in range(2))


def test_a_worker_without_a_recorder_holds_up_nobody(tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    base = os.environ | {
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    hooked = environment(base, "paceline.run.hook", **Settings(folder=run).environment())
    began = time.monotonic()
    both = [
        subprocess.Popen(
            [sys.executable, str(JOB), str(tmp_path)],
            env={**env, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True,
        )
        for rank, env in enumerate((hooked, base))
    ]  # fmt: skip
    errors = [one.communicate(timeout=LIMIT_S)[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], errors
    assert time.monotonic() - began < 60
    profile = stitch.profile(read.traces(run))
    assert [worker.rank for worker in profile.workers] == [0]
    assert profile.missing_workers == (1,)


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("blocks")
    (folder / "file").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "1", "RANK": "0"}
    done = launched([sys.executable, str(HERE / "recorded_blocks.py"), str(folder)], **alone)
    assert done.returncode == 0, done.stderr
    return folder, done.stderr


def test_a_window_that_the_end_cuts_is_written(blocks: tuple[Path, str]) -> None:
    run = blocks[0] / "cut"
    (trace,) = read.traces(run / "window-0" / "worker-0" / "timeline.json.gz")
    assert set(range(2, 8)) <= set(trace.step.tolist())
    profile = stitch.profile(read.traces(run))
    assert any(note.code == "window-chosen" for note in profile.notes)
    (coarse,) = read.traces([run / "worker-0" / "steps.jsonl"])
    assert "all_reduce bucket 0" in coarse.names  # the module was built before, and named
    assert set(coarse.step.tolist()) == set(range(8))


def test_a_profiler_of_the_script_has_precedence(blocks: tuple[Path, str]) -> None:
    run = blocks[0] / "own"
    assert (run / "window-0" / "worker-0" / "timeline.json.gz").is_file()
    (coarse,) = read.traces([run / "worker-0" / "steps.jsonl"])
    assert [note.code for note in coarse.notes] == ["own-profiler"]
    assert set(coarse.step.tolist()) == set(range(8))


def test_steps_by_hand(blocks: tuple[Path, str]) -> None:
    run = blocks[0] / "hand"
    assert not (blocks[0] / "ignored").exists()
    (coarse,) = read.traces([run / "worker-0" / "steps.jsonl"])
    assert set(coarse.step.tolist()) == set(range(8))
    assert len(stitch.profile(read.traces(run)).measured) >= 2


def test_a_folder_that_cannot_be_made_is_one_line(blocks: tuple[Path, str]) -> None:
    assert blocks[1].count("the training goes on") == 1
    assert "Traceback" not in blocks[1]


def test_ctrl_c_ends_the_job_and_keeps_the_recording(tmp_path: Path) -> None:
    run = tmp_path / "RUN"
    script = tmp_path / "endless.py"
    script.write_text(
        "import torch, time, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))\n"
        "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "while True:\n"
        "    net(torch.ones(2, 4)).sum().backward()\n"
        "    optimizer.step()\n"
        "    time.sleep(0.02)\n"
    )
    prefix = [sys.executable, "-m", "paceline", "record", "-o", str(run), "--window", "5:99999"]
    process = subprocess.Popen(
        [*prefix, "--", *torchrun(1, script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    steps = run / "worker-0" / "steps.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (steps.exists() and '"step":12' in steps.read_text()):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "1 of 1" in out
    assert (run / "worker-0" / "timeline.json.gz").is_file()
    assert len(stitch.profile(read.traces(run)).measured) >= 5
