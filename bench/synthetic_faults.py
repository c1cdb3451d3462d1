"""Right worker, right cause, right cost: faults injected into synthetic jobs, and clean jobs.

Each case draws a job (workers, layers, buckets, way of talking), noise as on GPUs or as on crowded
cores, and a fault (worker, cause, size) by its seed, writes the traces that a recorder would leave,
and asks `diagnose` for its first finding. The true cost is the difference to the same job, same
seed, same noise, without the fault. Faults that really cost less than 3 % of the step, or less than
three standard errors of the mean of the recorded steps, are drawn again: nobody could notice them.

    python bench/synthetic_faults.py [--cases 300] [--case 17] [--json]
"""

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from jobs import Fault, Shape, traces
from noise import CPU, GPU, compared
from paceline import diagnose, stitch
from paceline.model import Kind, Trace

CAUSES = ("slow_compute", "slow_host", "input", "stall", "pauses", "slow_link", "delay")


def shape(draw: np.random.Generator, hops: bool, crowded: bool) -> Shape:
    """A job like many, neither bound by input nor by communication when it is well.

    On crowded cores its ops are as short as those of the recording.
    """
    kernel_ms = float(draw.uniform(0.2, 2) if crowded else draw.uniform(0.5, 4))
    layers, buckets = int(draw.integers(6, 21)), int(draw.integers(2, 6))
    compute_ms = 3 * kernel_ms * layers
    rate = float(draw.uniform(2e9, 1e10))
    talk_ms = compute_ms * draw.uniform(0.05, 0.3)
    return Shape(
        workers=int(draw.integers(3, 13)),
        steps=int(draw.integers(12, 33)),
        layers=layers,
        buckets=buckets,
        kernel_ms=kernel_ms,
        launch_us=float(draw.uniform(20, 120)),
        load_ms=compute_ms * float(draw.uniform(0.02, 0.06)),
        bucket_bytes=int(talk_ms / 1000 * rate / 2 / buckets),
        bytes_per_s=rate,
        noise=CPU if crowded else GPU,
        hops=hops,
    )


class Drawn(NamedTuple):
    """A job with a fault that can be noticed, its traces, and what a step really loses by it."""

    job: Shape
    fault: Fault
    made: tuple[Trace, ...]
    true_ms: float


def drawn(seed: int) -> Drawn:
    """The case of a seed."""
    draw = np.random.default_rng([seed, 1])
    while True:
        cause = str(draw.choice(CAUSES))
        job = shape(
            draw, hops=cause in ("slow_link", "delay") or draw.random() < 0.2, crowded=seed % 2 == 1
        )
        step = job.kernel_ms * job.layers * 3
        fault = Fault(
            cause="stall" if cause == "pauses" else cause,
            worker=int(draw.integers(job.workers)),
            ms=float(
                step * (draw.uniform(0.002, 0.03) if cause == "delay" else draw.uniform(0.05, 2))
            ),
            factor=float(draw.uniform(1.5, 5)),
            phase=str(draw.choice(["forward", "backward"])),
            rate=float(draw.uniform(0.25, 0.6)) if cause == "pauses" else 1.0,
        )
        made = traces(job, fault, seed=seed)
        (clean, error), (faulty, _) = steps_ms(traces(job, seed=seed), job), steps_ms(made, job)
        if faulty - clean >= max(0.03 * clean, 3 * error):
            return Drawn(job, fault, made, faulty - clean)


def steps_ms(made: tuple[Trace, ...], job: Shape) -> tuple[float, float]:
    """The mean step and its standard error: on worker 0's own clock, from load to load."""
    first = made[0]
    begins = first.start_ns[first.kind == Kind.LOAD]
    length = np.diff(np.append(begins, (first.start_ns + first.duration_ns).max())) / 1e6
    return float(length.mean()), float(length.std(ddof=1)) / job.steps**0.5


def faulty(seed: int) -> dict[str, object]:
    """One case with a fault: what was found against what was injected."""
    job, fault, made, true_ms = drawn(seed)
    report = diagnose.report(stitch.profile(made))
    first = report.findings[0] if report.findings else None
    return {
        "seed": seed,
        "crowded": job.noise is CPU,
        "cause": fault.cause,
        "rate": fault.rate,
        "worker_right": first is not None and first.worker == fault.worker,
        "cause_right": first is not None and first.cause == fault.cause,
        "true_ms": true_ms,
        "cost_ms": None if first is None or first.cost_ns is None else first.cost_ns / 1e6,
        "found": [(row.code, row.subject) for row in report.findings],
    }


def clean(seed: int) -> dict[str, object]:
    """One case without a fault: any finding is a false alarm."""
    draw = np.random.default_rng([seed, 2])
    job = shape(draw, hops=draw.random() < 0.3, crowded=seed % 2 == 1)
    report = diagnose.report(stitch.profile(traces(job, seed=seed)))
    blamed = [row for row in report.findings if row.worker is not None]
    return {
        "seed": seed,
        "crowded": job.noise is CPU,
        "alarm": bool(blamed),
        "found": [(row.code, row.subject, row.cost_ns) for row in report.findings],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--case", type=int)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps({"faulty": faulty(given.case), "clean": clean(given.case)}, indent=1))
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(faulty, range(given.cases)))
        calm = list(pool.map(clean, range(given.cases)))
    if given.json:
        print(json.dumps({"faulty": rows, "clean": calm}))
    else:
        print(section(rows, calm))


def section(rows: list[dict], calm: list[dict]) -> str:
    """The results as a section of BENCHMARKS.md."""
    lines = [
        "## Synthetic faults",
        "",
        "Asked, of first findings: right worker in >= 95 %, right cause in >= 90 %.",
        "False alarms (a finding against a worker) in <= 1 % of clean jobs.",
        "",
        "| cause | cases | right worker | right cause | error of cost | 90 % below |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    kinds = sorted({(row["cause"], row["rate"] < 1) for row in rows})
    parts = {
        f"{cause} (some steps)" if rare else cause: [
            row for row in rows if (row["cause"], row["rate"] < 1) == (cause, rare)
        ]
        for cause, rare in kinds
    }
    parts |= {
        "all, noise of GPUs": [row for row in rows if not row["crowded"]],
        "all, noise of crowded cores": [row for row in rows if row["crowded"]],
        "all": rows,
    }
    for name, mine in parts.items():
        error = [abs(r["cost_ms"] / r["true_ms"] - 1) for r in mine if r["worker_right"]]
        low, high = np.percentile(error, (50, 90)) if error else (float("nan"),) * 2
        lines.append(
            f"| {name} | {len(mine)} | {_share(r['worker_right'] for r in mine)} |"
            f" {_share(r['cause_right'] for r in mine)} | {100 * low:.1f} % | {100 * high:.1f} % |"
        )
    alarms = sum(row["alarm"] for row in calm)
    lines += [
        "",
        f"False alarms: {alarms} of {len(calm)} clean jobs, {_share(r['alarm'] for r in calm)}.",
        f"Findings on the whole job: {sum(bool(r['found']) and not r['alarm'] for r in calm)}.",
        "",
        "Method: bench/synthetic_faults.py, one seed a case; the first finding counts. The true",
        "cost is the mean step of the same job and seed with and without the fault. Half of the",
        "jobs have noise as on GPUs, half as on crowded cores; it is as restless as that of the",
        "recordings, measured on both alike by bench/noise.py:",
        "",
        compared(),
    ]
    return "\n".join(lines)


def _share(values) -> str:
    known = list(values)
    return f"{100 * sum(known) / max(len(known), 1):.1f} %"


if __name__ == "__main__":
    main()
