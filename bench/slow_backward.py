"""Real workers that are slow inside backward: is the diagnosis right, and its cost?

Starts processes of bench/slow_backward_job.py (DistributedDataParallel on gloo, torch.profiler on
each), in which steps with and without delays are mixed. The profiler's files are then cut into one
recording for each delay, as if the job had always been so slow. The true cost is the mean step with
the delay less the mean step without, by the workers' own clocks.

    python bench/slow_backward.py [--launches 4] [--json]
"""

import argparse
import bisect
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paceline import diagnose, read, stitch
from paceline.model import Report

JOB = Path(__file__).parent / "slow_backward_job.py"
LONGEST_S = 300


@dataclass(frozen=True, kw_only=True)
class Delay:
    """What one worker does in backward before the gradient of a layer; nothing without worker."""

    worker: int | None = None
    layer: int = 0
    ms: float = 0.0
    how: str = "sleep"  # or compute


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The recording of one delay and what a step really lost by it, with its standard error."""

    delay: Delay
    run: Path
    true_ms: float
    error_ms: float

    def report(self) -> Report:
        """The diagnosis."""
        return diagnose.report(stitch.profile(read.traces(self.run)))


def recorded(folder: Path, delays: list[Delay], rounds: int, workers: int = 4) -> list[Recorded]:
    """Recordings of a job with each delay, and first one without any, from one launch."""
    every = [Delay(), *delays]
    _launch(folder, every, rounds, workers)
    rows = np.array(
        [json.loads((folder / f"steps{rank}.json").read_text()) for rank in range(workers)]
    )
    number, setting = rows[0, :, 0].astype(int), rows[0, :, 1].astype(int)
    ms = rows[:, :, 2].mean(axis=0) * 1000
    raw = [json.loads((folder / f"all{rank}.json").read_text()) for rank in range(workers)]
    found = []
    for at, delay in enumerate(every):
        run = folder / f"run{at}"
        run.mkdir()
        steps = set(number[setting == at].tolist())
        for rank, trace in enumerate(raw):
            (run / f"rank{rank}.json").write_text(json.dumps(_cut(trace, steps)))
        lost = ms[setting == at] - ms[setting == 0]  # round by round
        error = float(lost.std(ddof=1)) / rounds**0.5
        found.append(Recorded(delay=delay, run=run, true_ms=float(lost.mean()), error_ms=error))
    return found


def _launch(folder: Path, delays: list[Delay], rounds: int, workers: int) -> None:
    settings = [[one.worker, one.layer, one.ms / 1000, one.how] for one in delays]
    job = [sys.executable, str(JOB), str(folder), json.dumps(settings), str(rounds)]
    where = {"WORLD_SIZE": str(workers), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_port())}
    processes = [
        subprocess.Popen(
            job,
            env=os.environ | where | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        for rank in range(workers)
    ]
    try:
        for process in processes:
            _, said = process.communicate(timeout=LONGEST_S)
            if process.returncode:
                raise RuntimeError(f"a worker failed:\n{said.decode()[-2000:]}")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _cut(trace: dict, steps: set[int]) -> dict:
    """The profiler's file with nothing but these steps in it."""
    spans = []
    for event in trace["traceEvents"]:
        match = re.fullmatch(r"ProfilerStep#(\d+)", event.get("name", ""))
        if match and int(match[1]) in steps and event.get("cat") == "user_annotation":
            spans.append((event["ts"], event["ts"] + event["dur"]))
    spans.sort()
    starts = [start for start, _ in spans]

    def inside(event: dict) -> bool:
        if event.get("ph") == "M" or "ts" not in event:
            return True
        at = bisect.bisect_right(starts, event["ts"]) - 1
        return at >= 0 and event["ts"] <= spans[at][1]

    return trace | {"traceEvents": [event for event in trace["traceEvents"] if inside(event)]}


def row(case: Recorded) -> dict[str, object]:
    """What was found in one recording against what is true."""
    report = case.report()
    delay = case.delay
    first = report.findings[0] if report.findings else None
    cost = None if first is None or first.cost_ns is None else first.cost_ns / 1e6
    interval = None if first is None else first.interval_ns
    return {
        "worker": delay.worker, "layer": delay.layer, "ms": delay.ms, "how": delay.how,
        "true_ms": case.true_ms, "error_ms": case.error_ms, "cost_ms": cost,
        "interval_ms": None if interval is None else [end / 1e6 for end in interval],
        "worker_right": first is not None and first.worker == delay.worker,
        "cause_right": first is not None and first.cause == "slow_compute",
        "step_ms": report.step_ns[0] / 1e6, "replay": report.simulation_error,
        "found": [(f.code, f.subject, f.cost_ns) for f in report.findings],
    }  # fmt: skip


def delays(draw: np.random.Generator, workers: int) -> list[Delay]:
    """Of 200 ms, of some tens and of a few, at workers and layers by chance."""
    sizes = [(200, "sleep"), (200, "compute"), (float(draw.uniform(20, 60)), "sleep"),
             (float(draw.uniform(5, 10)), "sleep")]  # fmt: skip
    return [
        Delay(worker=int(draw.integers(workers)), layer=int(draw.integers(1, 5)), ms=ms, how=how)
        for ms, how in sizes
    ]


def section(rows: list[dict]) -> str:
    """The rows as a section of BENCHMARKS.md."""
    lines = [
        "| delay | worker, layer | true cost | found | error | right worker, cause |",
        "|---|---|---:|---:|---:|---|",
    ]
    slow = [one for one in rows if one["worker"] is not None]
    for one in sorted(slow, key=lambda one: -one["ms"]):
        true = f"{one['true_ms']:.1f} ± {1.96 * one['error_ms']:.1f} ms"
        right = "yes" if one["worker_right"] and one["cause_right"] else "**no**"
        cost = one["cost_ms"] if one["worker_right"] else None
        found = error = "nothing"
        if cost is not None:
            low, high = one["interval_ms"]
            found = f"{cost:.1f} ms ({low:.1f} to {high:.1f})"
            error = f"{100 * (cost / one['true_ms'] - 1):+.1f} %"
        lines.append(
            f"| {one['ms']:.0f} ms {one['how']} | {one['worker']}, {one['layer']} |"
            f" {true} | {found} | {error} | {right} |"
        )
    large = [one for one in slow if one["ms"] >= 200]
    error = [abs(one["cost_ms"] / one["true_ms"] - 1) for one in large if one["worker_right"]]
    clean = [one for one in rows if one["worker"] is None]
    alarms = sum(any("worker" in subject for _, subject, _ in one["found"]) for one in clean)
    step = np.median([one["step_ms"] for one in clean])
    low, high = 100 * float(np.median(error)), 100 * max(error)
    table = "\n".join(lines)
    return f"""## Slow backward, recorded

Asked: a worker slowed by 200 ms inside backward is the first finding, with the right worker, the
right cause and a cost within 5 %.

{table}

Of 200 ms: {len(error)} of {len(large)} workers right; error of cost {low:.1f} % in the median,
{high:.1f} % at most. Recordings without a delay: {len(clean)}, of which {alarms} with a finding
against a worker.

Method: bench/slow_backward.py; 4 workers on gloo with DistributedDataParallel, a step of
{step:.0f} ms on cores that they share. Each launch mixes steps with and without delays, so the true
cost, here with its 95 % interval, is from the same seconds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows: list[dict] = []
    for launch in range(given.launches):
        print(f"launch {launch + 1} of {given.launches}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            cases = delays(np.random.default_rng(launch), 4)
            rows += [row(case) for case in recorded(Path(folder), cases, given.rounds)]
    print(json.dumps(rows) if given.json else section(rows))


if __name__ == "__main__":
    main()
