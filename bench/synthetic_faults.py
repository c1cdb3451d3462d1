"""Right worker, right cause, right cost: faults injected into synthetic jobs, and clean jobs.

Each case draws a job (workers, layers, buckets, noise, way of talking) and a fault (worker, cause,
size) by its seed, writes the traces that a recorder would leave, and asks `diagnose` for its first
finding. The true cost is the difference to the same job, same seed, without the fault. Faults that
really cost less than 3 % of the step are drawn again: nobody could notice them.

    python bench/synthetic_faults.py [--cases 300] [--case 17] [--json]
"""

import argparse
import json

import numpy as np

from jobs import Fault, Shape, traces
from paceline import diagnose, stitch
from paceline.model import Report

CAUSES = ("slow_compute", "slow_host", "input", "stall", "pauses", "slow_link", "delay")


def shape(draw: np.random.Generator, hops: bool) -> Shape:
    """A job like many."""
    return Shape(
        workers=int(draw.integers(3, 13)),
        steps=int(draw.integers(12, 33)),
        layers=int(draw.integers(6, 21)),
        buckets=int(draw.integers(2, 6)),
        kernel_ms=float(draw.uniform(0.5, 4)),
        launch_us=float(draw.uniform(20, 120)),
        bucket_bytes=int(draw.uniform(5e6, 3e7)),
        bytes_per_s=float(draw.uniform(2e9, 1e10)),
        op_noise=float(draw.uniform(0.01, 0.06)),
        step_noise=float(draw.uniform(0.005, 0.02)),
        hops=hops,
    )


def drawn(seed: int) -> tuple[Shape, Fault]:
    """The job and the fault of a case, whose true cost is at least 3 % of the step."""
    draw = np.random.default_rng([seed, 1])
    while True:
        cause = str(draw.choice(CAUSES))
        job = shape(draw, hops=cause in ("slow_link", "delay") or draw.random() < 0.2)
        step = job.kernel_ms * job.layers * 3
        fault = Fault(
            cause="stall" if cause == "pauses" else cause,
            worker=int(draw.integers(job.workers)),
            ms=float(draw.uniform(0.2, 3) if cause == "delay" else step * draw.uniform(0.05, 2)),
            factor=float(draw.uniform(1.5, 5)),
            phase=str(draw.choice(["forward", "backward"])),
            rate=float(draw.uniform(0.25, 0.6)) if cause == "pauses" else 1.0,
        )
        clean, faulty = (_mean_ms(job, one, seed) for one in (None, fault))
        if faulty - clean >= 0.03 * clean:
            return job, fault


def _mean_ms(job: Shape, fault: Fault | None, seed: int) -> float:
    """The mean time of a step: on worker 0's own clock, whole run over steps."""
    first = traces(job, fault, seed=seed)[0]
    ends = first.start_ns + first.duration_ns
    return float(ends.max() - first.start_ns.min()) / job.steps / 1e6


def diagnosed(job: Shape, fault: Fault | None, seed: int) -> Report:
    """The report on a job's traces."""
    return diagnose.report(stitch.profile(traces(job, fault, seed=seed)))


def faulty(seed: int) -> dict[str, object]:
    """One case with a fault: what was found against what was injected."""
    job, fault = drawn(seed)
    report = diagnosed(job, fault, seed)
    first = report.findings[0] if report.findings else None
    clean, slow = (_mean_ms(job, one, seed) for one in (None, fault))
    return {
        "seed": seed,
        "cause": fault.cause,
        "rate": fault.rate,
        "worker_right": first is not None and first.worker == fault.worker,
        "cause_right": first is not None and first.cause == fault.cause,
        "true_ms": slow - clean,
        "cost_ms": None if first is None or first.cost_ns is None else first.cost_ns / 1e6,
        "found": [(row.code, row.subject) for row in report.findings],
    }


def clean(seed: int) -> dict[str, object]:
    """One case without a fault: any finding is a false alarm."""
    draw = np.random.default_rng([seed, 2])
    report = diagnosed(shape(draw, hops=draw.random() < 0.3), None, seed)
    blamed = [row for row in report.findings if row.worker is not None]
    return {
        "seed": seed,
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
    rows = [faulty(seed) for seed in range(given.cases)]
    calm = [clean(seed) for seed in range(given.cases)]
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
    for cause, rare in [*kinds, ("all", None)]:
        mine = [r for r in rows if rare is None or (r["cause"], r["rate"] < 1) == (cause, rare)]
        error = [abs(r["cost_ms"] / r["true_ms"] - 1) for r in mine if r["worker_right"]]
        low, high = np.percentile(error, (50, 90)) if error else (float("nan"),) * 2
        name = f"{cause} (some steps)" if rare else cause
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
        "cost is the mean step of the same job and seed with and without the fault.",
    ]
    return "\n".join(lines)


def _share(values) -> str:
    known = list(values)
    return f"{100 * sum(known) / max(len(known), 1):.1f} %"


if __name__ == "__main__":
    main()
