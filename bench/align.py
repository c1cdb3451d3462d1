"""Whether injected clock offsets and drifts are recovered, on a real recording.

Four processes train over gloo on loopback for half a minute: collectives of two sizes, a ring of
sends and receives both ways, torch's own profiler. They share one clock; so what is then written
into copies of their files (up to a second of offset, up to 100 ppm of drift) is the truth. Needs
the extra `torch`. `--keep FOLDER` keeps or reuses a recording, `--json` prints all figures instead.
"""

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from paceline import read
from paceline.model import Alignment, Kind, Trace
from paceline.stitch import match
from paceline.stitch.align import clocks
from paceline.stitch.align_ties import orders
from paceline.stitch.alignments import mapped_ns
from paceline.stitch.matches import Matches

WORKERS, SECONDS = 4, 32.0
DRAWS = 8
OFFSET_NS, DRIFT_PPM = 10**9, 100.0
DLRM = Path(os.environ.get("PACELINE_SHARED_DATA", "../shared/data")) / "traces" / "dlrm8"


def work(folder: Path, seconds: float) -> None:
    """What each recorded process does."""
    import torch
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, schedule

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % world, (rank - 1) % world
    small, large, message = torch.ones(1024), torch.ones(256 * 1024), torch.ones(8192)
    received, stop = torch.empty(8192), torch.zeros(1)
    dist.all_reduce(small)
    always = schedule(wait=0, warmup=0, active=10**6)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, schedule=always) as trace:
        began, step = time.monotonic(), 0
        while not stop[0]:
            time.sleep(0.04 + 0.005 * ((7 * step + 3 * rank) % 4))
            dist.all_reduce(small)
            dist.all_reduce(large)
            for target, source in ((after, before), (before, after)):
                sent = dist.isend(message, target)
                dist.recv(received, source)
                sent.wait()
            step += 1
            if step % 50 == 0:
                stop[0] = float(time.monotonic() - began > seconds)
                dist.all_reduce(stop, op=dist.ReduceOp.MAX)
            trace.step()
    trace.export_chrome_trace(str(folder / f"rank_{rank}.json"))
    dist.destroy_process_group()


def record(folder: Path, seconds: float) -> None:
    """Runs the recorded processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    job = [f"--nproc-per-node={WORKERS}", __file__, "--work", str(folder)]
    subprocess.run([*launcher, *job, f"--seconds={seconds}"], check=True, stdout=sys.stderr)


def injected(source: Path, target: Path, offset_ns: int, ppm: float) -> None:
    """Writes a copy of a trace whose clock is off and drifts from its first event on."""
    trace: dict[str, Any] = json.loads(source.read_bytes())
    timed = [event for event in trace["traceEvents"] if "ts" in event]
    first = min(ns(event["ts"]) for event in timed if event["ph"] == "X")

    def shown(true_ns: int) -> int:
        return true_ns + offset_ns + round(ppm * 1e-6 * (true_ns - first))

    for event in timed:
        start = ns(event["ts"])
        end = start + ns(event.get("dur", 0))
        event["ts"] = shown(start) / 1000
        if "dur" in event:
            event["dur"] = (shown(end) - shown(start)) / 1000
    target.write_text(json.dumps(trace))


def ns(us: float) -> int:
    """Whole nanoseconds of a profiler's microseconds."""
    return round(us * 1000)


def worst_error_ns(trace: Trace, found: Alignment, offset_ns: int, ppm: float) -> int:
    """How far aligned times are from the truth, at the worst end of the trace."""
    ends = np.array([trace.start_ns.min(), trace.start_ns.max()])
    rate = ppm * 1e-6
    drifted = np.rint(rate / (1 + rate) * (ends - ends[0])).astype(np.int64)
    return int(np.abs(mapped_ns(ends, found) - (ends - offset_ns - drifted)).max())


def measured(source: Path, folder: Path, draw: int) -> dict[str, Any]:
    """Injects one draw of clocks into copies of the recording, and what comes back."""
    generator = np.random.default_rng(draw)
    offsets = [0, *generator.integers(-OFFSET_NS, OFFSET_NS, WORKERS - 1).tolist()]
    drifts = [0.0, *generator.uniform(-DRIFT_PPM, DRIFT_PPM, WORKERS - 1).tolist()]
    if draw == 0:
        drifts[1:3] = [DRIFT_PPM, -DRIFT_PPM]
    for rank in range(WORKERS):
        name = f"rank_{rank}.json"
        injected(source / name, folder / name, offsets[rank], drifts[rank])
    traces = [read.trace(folder / f"rank_{rank}.json") for rank in range(WORKERS)]
    matches = match.events(traces)
    began = time.perf_counter()
    found = clocks(traces, matches)
    took = time.perf_counter() - began
    start = traces[0].start_ns
    return {
        "draw": draw,
        "seconds": float(start.max() - start.min()) / 1e9,
        "collectives": int((matches.kind == Kind.COLLECTIVE).sum()),
        "complete": int(matches.complete[matches.kind == Kind.COLLECTIVE].sum()),
        "took_s": took,
        "one_constant_ns": one_constant_ns(
            traces, matches, list(zip(offsets, drifts, strict=True))
        ),
        "notes": [note.text for note in found.notes],
        **too_early(traces, matches, found.alignments),
        "workers": [
            worker(trace, alignment, offset, ppm)
            for trace, alignment, offset, ppm in zip(
                traces, found.alignments, offsets, drifts, strict=True
            )
        ],
    }


def worker(trace: Trace, found: Alignment, offset_ns: int, ppm: float) -> dict[str, Any]:
    """What was injected into one worker's clock, and what was recovered."""
    return {
        "rank": found.worker,
        "injected_ns": offset_ns,
        "injected_ppm": ppm,
        "offset_ns": found.offset_ns,
        "drift_ppm": found.drift_ppm,
        "error_ns": worst_error_ns(trace, found, offset_ns, ppm),
        "stated_error_ns": found.error_ns,
        "error_ppm": abs(found.drift_ppm + ppm / (1 + ppm * 1e-6)),
        "stated_error_ppm": found.drift_error_ppm,
    }


def one_constant_ns(traces: list[Trace], matches: Matches, clocks: list[tuple[int, float]]) -> int:
    """The worst error of the simple way: one constant a worker, the median of differing ends."""
    ends = np.full((len(matches), WORKERS), np.iinfo(np.int64).min)
    for index, trace in enumerate(traces):
        rows = matches.trace == index
        events = matches.event[rows]
        ends[matches.match[rows], index] = trace.start_ns[events] + trace.duration_ns[events]
    whole = (matches.kind == Kind.COLLECTIVE) & (matches.complete == 1)
    worst = 0
    for index, (offset_ns, ppm) in enumerate(clocks):
        apart = int(np.median(ends[whole, 0] - ends[whole, index]))
        simple = Alignment(
            worker=index,
            offset_ns=apart,
            drift_ppm=0.0,
            raw_start_ns=int(traces[index].start_ns[0]),
        )
        worst = max(worst, worst_error_ns(traces[index], simple, offset_ns, ppm))
    return worst


def too_early(
    traces: list[Trace], matches: Matches, alignments: tuple[Alignment, ...]
) -> dict[str, int]:
    """How many messages, on the clocks given, are received before they were sent."""
    known = orders(traces, matches)
    sent, received = known.before_ns.copy(), known.after_ns.copy()
    for index, alignment in enumerate(alignments):
        own, other = known.before == index, known.after == index
        sent[own] = mapped_ns(known.before_ns[own], alignment)
        received[other] = mapped_ns(known.after_ns[other], alignment)
    return {
        "messages": len(known),
        "too_early_raw": int((known.after_ns < known.before_ns).sum()),
        "too_early": int((received < sent).sum()),
    }


def eight_ranks() -> dict[str, Any] | None:
    """Offsets injected into eight public NCCL timelines; None where they are not."""
    files = [DLRM / f"rank_{rank}.json.gz" for rank in range(8)]
    if not all(file.exists() for file in files):
        return None
    traces = [read.trace(file) for file in files]
    errors: list[int] = []
    stated: list[float] = []
    for draw in range(DRAWS):
        offsets = [0, *np.random.default_rng(draw).integers(-OFFSET_NS, OFFSET_NS, 7).tolist()]
        moved = [
            dataclasses.replace(trace, start_ns=trace.start_ns + offset)
            for trace, offset in zip(traces, offsets, strict=True)
        ]
        matches = match.events(moved)
        for offset, one in zip(offsets, clocks(moved, matches).alignments, strict=True):
            errors.append(abs(one.offset_ns + offset))
            stated.append(one.error_ns or 0.0)
    return {
        "matched": len(matches),
        "complete": int(matches.complete.sum()),
        "error_ns": max(errors),
        "stated_error_ns": max(stated),
        "within": sum(e <= s for e, s in zip(errors, stated, strict=True)) / len(errors),
    }


def section(draws: list[dict[str, Any]], public: dict[str, Any] | None) -> str:
    """The Markdown section."""
    workers = [one for draw in draws for one in draw["workers"][1:]]
    errors = [one["error_ns"] for one in workers]
    ppm = [one["error_ppm"] for one in workers]
    within = sum(one["error_ns"] <= one["stated_error_ns"] for one in workers)
    first = draws[0]
    early = max(draw["too_early"] for draw in draws)
    lines = [
        "## Clocks: injected offsets and drifts recovered",
        "",
        (
            f"Own recording of {first['seconds']:.0f} s over gloo: {first['complete']} of "
            f"{first['collectives']} collectives complete, {first['messages']} messages, "
            f"{len(draws)} draws of clocks with offsets up to 1 s and drifts up to 100 ppm. The "
            "error is that of the worst aligned time in the trace."
        ),
        "",
        "| | asked | measured |",
        "|---|---|---|",
        f"| worst error of an aligned time | | {max(errors) / 1e3:.1f} µs |",
        (
            "| the same with one constant a worker (median of the ends) | | "
            f"{max(draw['one_constant_ns'] for draw in draws) / 1e3:,.1f} µs |"
        ),
        f"| median error | | {statistics.median(errors) / 1e3:.1f} µs |",
        f"| worst error of a drift | 1 ppm | {max(ppm):.2f} ppm |",
        f"| within the stated error | 95 % | {within} of {len(workers)} |",
        (
            "| stated error (median) | | "
            f"{statistics.median(one['stated_error_ns'] for one in workers) / 1e3:.0f} µs |"
        ),
        (
            "| messages received before they were sent, as recorded | | "
            f"{first['too_early_raw']} of {first['messages']} |"
        ),
        f"| after alignment, worst draw | 0 | {early} |",
        f"| time to align | | {statistics.median(d['took_s'] for d in draws):.2f} s |",
    ]
    if public is not None:
        lines += [
            (
                f"| eight public NCCL timelines: collectives complete | 8 of 8 | "
                f"{public['complete']} of {public['matched']} |"
            ),
            (
                f"| their worst error with offsets up to 1 s | 10 µs | "
                f"{public['error_ns'] / 1e3:.1f} µs |"
            ),
        ]
    lines += ["", "| worker | injected | recovered | error | stated |", "|---|---|---|---|---|"]
    lines += [
        f"| {one['rank']} | {one['injected_ns'] / 1e6:+.3f} ms, {one['injected_ppm']:+.2f} ppm | "
        f"{-one['offset_ns'] / 1e6:+.3f} ms, {-one['drift_ppm']:+.2f} ppm | "
        f"{one['error_ns'] / 1e3:.1f} µs, {one['error_ppm']:.2f} ppm | "
        f"{one['stated_error_ns'] / 1e3:.0f} µs, {one['stated_error_ppm']:.2f} ppm |"
        for one in first["workers"][1:]
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument("--keep", type=Path, help="folder of the recording, reused if it is there")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of the recording")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.work, given.seconds)
        return
    with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as copies:
        folder = given.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / f"rank_{WORKERS - 1}.json").exists():
            record(folder, given.seconds)
        draws = [measured(folder, Path(copies), draw) for draw in range(DRAWS)]
    public = eight_ranks()
    whole = {"draws": draws, "eight_ranks": public}
    print(json.dumps(whole, indent=1) if given.json else section(draws, public))


if __name__ == "__main__":
    main()
