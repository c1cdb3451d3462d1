"""A real job whose buckets travel by our own transport, recorded down to the message."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")

from paceline import diagnose, read, simulate, stitch
from paceline.model import UNKNOWN, Kind, Profile, cyclic_ops
from paceline.stitch.fit import messages

JOB = Path(__file__).with_name("hops_job.py")
WORKERS, STEPS = 4, 10


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The RUN folder of four workers, at a pace that makes steps alike."""
    folder = tmp_path_factory.mktemp("run")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"WORLD_SIZE": str(WORKERS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    where |= {"OMP_NUM_THREADS": "1", "PACELINE_PACE": "30MB/s"}
    job = [
        subprocess.Popen(
            [sys.executable, str(JOB), str(folder), "ring", str(STEPS)],
            env=os.environ | where | {"RANK": str(rank)},
            stderr=subprocess.PIPE,
        )
        for rank in range(WORKERS)
    ]
    try:
        for one in job:
            _, said = one.communicate(timeout=120)
            assert one.returncode == 0, said.decode()[-2000:]
    finally:
        for one in job:
            one.kill()
            one.wait()
    return folder


@pytest.fixture(scope="module")
def profile(run: Path) -> Profile:
    return stitch.profile(read.traces(run))


def test_every_send_meets_its_receive(profile: Profile) -> None:
    (own,) = profile.matching
    assert (own.kind, own.key, own.unmatched) == ("message", "group and sequence", 0)
    talks = np.isin(profile.graph.kind, (Kind.SEND, Kind.RECV))
    assert talks.sum() >= WORKERS * 2 * 2 * (WORKERS - 1)
    assert (profile.graph.match[talks] >= 0).all()


def test_nothing_arrives_before_it_was_sent(profile: Profile) -> None:
    receive, send = messages(profile.graph)
    for line in profile.measured:
        there = (line.end_ns[receive] != UNKNOWN) & (line.start_ns[send] != UNKNOWN)
        assert there.any()
        assert (line.end_ns[receive][there] >= line.start_ns[send][there]).all()


def test_issue_and_wait_lie_on_the_lane_of_the_training_thread(profile: Profile) -> None:
    graph = profile.graph
    for name in ("issue", "wait"):
        ops = [op for op in range(len(graph)) if graph.works[int(graph.work[op])].name == name]
        assert len(ops) >= WORKERS
        for op in ops:
            beside = (graph.worker == graph.worker[op]) & (graph.lane == graph.lane[op])
            assert (graph.kind[beside] == Kind.COMPUTE).any()
    told = {graph.works[int(graph.work[op])].name for op in graph.after_op}
    assert {"issue", "reduce", "spread"} <= told


def test_the_graph_plays_the_steps_again(profile: Profile) -> None:
    assert len(cyclic_ops(profile.graph)) == 0
    real, played = [], []
    for step, line in enumerate(profile.measured):
        known = line.start_ns != UNKNOWN
        real.append(int(line.end_ns[known].max() - line.start_ns[known].min()))
        again = simulate.timeline(profile.graph, simulate.times(profile, step=step))
        played.append(int(again.end_ns.max()))
    assert np.mean(played) == pytest.approx(np.mean(real), rel=0.02)
    typical = simulate.timeline(profile.graph, simulate.times(profile)).end_ns.max()
    assert typical == pytest.approx(np.mean(real), rel=0.15)  # a crowded machine; quiet: 0.03


def test_the_diagnosis_reads_it(profile: Profile) -> None:
    report = diagnose.report(profile)
    assert report.simulation_error is not None
    assert report.simulation_error < 0.02
