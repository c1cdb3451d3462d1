"""How fast steps are simulated, in how much memory, beside a rival; how exactly links are shared.

With the word `step` it only plays the large steps and prints the peak memory of its own process.
"""

import dataclasses
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine_jobs import crowd, data_parallel, star, talkative
from engine_rival import laid, rival
from engine_rule import SHAPES, crowds, errors, told
from paceline import simulate
from paceline.model import Cluster, Graph, Kind, Times, Work

Job = tuple[Graph, Times, Cluster | None]

RUNS = 5
CASES = 150
LANES, FLOWS = 5.0, 2.5  # million ops a second
STEP_S, STEP_GIB = 2.5, 2.0


def lanes(workers: int, per_worker: int) -> Job:
    return *data_parallel(workers, per_worker), None


def rings(workers: int, per_worker: int, machines: int) -> Job:
    """A data-parallel step whose all-reduces, every 20th op, are left to ring and links."""
    graph, times = data_parallel(workers, per_worker)
    meets = graph.kind == Kind.COLLECTIVE
    size = 2**24
    works = (*graph.works, Work(name="all_reduce", kind=Kind.COLLECTIVE, size_bytes=size))
    graph = dataclasses.replace(
        graph,
        work=np.where(meets, 1, 0).astype(np.int32),
        works=works,
        size_bytes=np.where(meets, size, -1),
    )
    own = Times(duration_ns=np.where(meets, -1, times.duration_ns), lead_ns=times.lead_ns)
    return graph, own, star(machines, workers // machines)


def played_ops(job: Job) -> int:
    """The ops that are played in the end: collectives left to the links become messages."""
    graph, times, cluster = job
    opened = (times.duration_ns < 0) & (graph.kind == Kind.COLLECTIVE)
    if cluster is None or not opened.any():
        return len(graph)
    return len(simulate.lowered(graph, times, cluster).graph)


def cpu_s(play: Callable[[], object]) -> float:
    began = time.process_time()
    play()
    return time.process_time() - began


def measured(job: Job, runs: int = RUNS) -> list[float]:
    """CPU seconds of one simulation, sorted, after one that warms up."""
    simulate.timeline(*job)
    gc.collect()
    return sorted(cpu_s(lambda: simulate.timeline(*job)) for _ in range(runs))


def met(good: bool) -> str:
    return "yes" if good else "**no**"


def speeds() -> None:
    print("| step | ops | CPU s, median | lowest to highest | million ops/s | asked | met |")
    print("|---|---:|---:|---:|---:|---:|---|")
    near, far = "to the next machine", "to anybody"
    row("lanes alone, 64 workers", lanes(64, 20_000), LANES)
    for workers, machines in ((64, 64), (64, 8)):
        what = f"40 % flows, {workers} workers on {machines} machines"
        row(f"{what}, {near}", talkative(workers, 20_000, machines, near=True), FLOWS)
        row(f"{what}, {far}", talkative(workers, 20_000, machines, near=False), FLOWS)
    row("1,024 workers, lanes alone", lanes(1024, 4_883), STEP_S, in_seconds=True)
    for machines in (1024, 128):
        what = f"1,024 workers on {machines:,} machines, 40 % flows"
        row(f"{what}, {near}", talkative(1024, 4_883, machines, near=True), STEP_S, in_seconds=True)
        row(f"{what}, {far}", talkative(1024, 4_883, machines, near=False), None)
    row("1,024 workers on 128 machines, ring all-reduces as messages", rings(1024, 1160, 128),
        STEP_S, in_seconds=True)  # fmt: skip
    row("1,000 machines send to one", crowd(1000, 100), None)


def row(what: str, job: Job, asked: float | None, *, in_seconds: bool = False) -> None:
    ops = played_ops(job)
    times = measured(job, 3 if ops > 2_000_000 else RUNS)
    median = statistics.median(times)
    rate = ops / median / 1e6
    verdict, wanted = "", ""
    if asked is not None:
        wanted = f"{asked:g} s" if in_seconds else f"{asked:g} M/s"
        verdict = met(median <= asked if in_seconds else rate >= asked)
    print(
        f"| {what} | {ops:,} | {median:.3f} | {times[0]:.3f} to {times[-1]:.3f} | {rate:.1f} "
        f"| {wanted} | {verdict} |",
        flush=True,
    )


def memory() -> None:
    """Peak memory of fresh processes that make and play the large steps."""
    for what in ("lanes", "flows", "rings"):
        done = subprocess.run(
            [sys.executable, __file__, "step", what], capture_output=True, text=True, check=True
        )
        peak = float(done.stdout)
        print(f"- {what}: {peak:.2f} GiB (asked: {STEP_GIB:g}, met: {met(peak <= STEP_GIB)})")


def step(what: str) -> None:
    job: Job
    if what == "lanes":
        job = lanes(1024, 4_883)
    elif what == "flows":
        job = talkative(1024, 4_883, 128, near=True)
    else:
        job = rings(1024, 1160, 128)
    simulate.timeline(*job)
    status = Path("/proc/self/status").read_text()  # the peak in rusage is also that of the parent
    print(int(status.split("VmHWM:")[1].split()[0]) / 2**20)


def curve() -> None:
    print("| ops | lanes alone, ns an op | 40 % flows, ns an op |")
    print("|---:|---:|---:|")
    for ops in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 5_000_000):
        runs = RUNS if ops <= 1_000_000 else 3
        one = statistics.median(measured(lanes(64, ops // 64), runs))
        other = statistics.median(measured(talkative(64, ops // 64, 8, near=True), runs))
        print(f"| {ops:,} | {one / ops * 1e9:.0f} | {other / ops * 1e9:.0f} |", flush=True)


def beside() -> None:
    print("| step | ops | ours, CPU s | rival, CPU s | times | furthest apart, ns |")
    print("|---|---:|---:|---:|---:|---:|")
    jobs: list[tuple[str, Job]] = [
        ("lanes alone, 64 workers", lanes(64, 2_000)),
        ("lanes alone, 64 workers", lanes(64, 20_000)),
    ]
    jobs += [
        (f"40 % flows, {workers} workers on {workers // 8} machines",
         talkative(workers, 100, workers // 8, near=True))
        for workers in (16, 64, 256, 1024)
    ]  # fmt: skip
    for what, job in jobs:
        plan = laid(*job)
        rival(plan)
        line = simulate.timeline(*job)
        ours: list[float] = []
        theirs: list[float] = []
        end = line.end_ns
        for _ in range(3):  # in turns, so that other work on the machine hits both alike
            ours.append(cpu_s(lambda job=job: simulate.timeline(*job)))
            began = time.process_time()
            _, end, _ = rival(plan)
            theirs.append(time.process_time() - began)
        one, other = statistics.median(ours), statistics.median(theirs)
        apart = int(np.abs(end - line.end_ns).max())
        print(
            f"| {what} | {len(job[0]):,} | {one:.4f} | {other:.4f} | {other / one:.1f} | {apart} |",
            flush=True,
        )


def affected() -> None:
    print("| machines | ours, µs a flow | all flows anew, µs a flow |")
    print("|---:|---:|---:|")
    for machines in (2, 8, 32, 128, 512, 1024):
        one, other = 512_000, 20_480 if machines < 512 else 2 * machines
        job = talkative(machines, 2 * one // machines, machines, near=True, share=1.0)
        ours = statistics.median(measured(job)) / one
        plan = laid(*talkative(machines, 2 * other // machines, machines, near=True, share=1.0))
        rival(plan)
        theirs = cpu_s(lambda plan=plan: rival(plan)) / other
        print(f"| {machines:,} | {ours * 1e6:.2f} | {theirs * 1e6:.2f} |", flush=True)


def sharing() -> None:
    ours, crude = errors(CASES)
    print("| rule | step: median | 95 % | worst | any end: median | 95 % | worst |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(f"| ours | {told(ours)} |")
    print(f"| rate / flows on each link | {told(crude)} |")
    crowded = [f"{crowds(many, 3).end:.2g} % with {many:,}" for many in (100, 200, 1000)]
    print(
        f"\nMany senders to one machine, half of them held back by links of their own, against the"
        f"\ncompiled rival: worst end off by {', '.join(crowded)} senders."
    )


def main() -> None:
    print("## Engine\n")
    print("Asked: 5 million ops/s on lanes alone; 2.5 million with 40 % of the ops the sends and")
    print("receives of flows on shared links; a step of 1,024 workers and 5 million ops within")
    print("2.5 s and 2 GiB. Measured: CPU time of `simulate.timeline`, one thread, warm; steps of")
    print("random durations and dependencies (`engine_jobs.py`); machines around one switch,")
    print("10 Gbit/s.\n")
    speeds()
    print("\nPeak memory of a fresh process that makes and plays the 1,024-worker step:\n")
    memory()
    print("\nCost curve, 64 workers (flows: 8 machines, to the next machine):\n")
    curve()
    print("\nBeside the strongest simple rival (`engine_rival.py`): a heap of all events, and")
    print("max-min shares of all flows worked out anew whenever one begins or ends; compiled as")
    print("well, same process, in turns, without its layout of the graph, which ours includes.")
    print("Longer steps than these drift apart: an error of one ns then grows, in the rival alone")
    print("too.\n")
    beside()
    print(
        "\nOnly what a flow affects is worked out anew. Flows alone, each to the next machine, so"
    )
    print("that a flow affects as much on few machines as on many:\n")
    affected()
    print("\nRule: max-min fair to one part in a million; a link crossed by more than 128 routes")
    print("may lag by one flow in 128. Error against exact max-min by progressive filling in plain")
    print(
        f"Python, in % of the step, over {CASES} small cases ({', '.join(SHAPES)} of uneven links;"
    )
    print("5 to 60 messages), and that of the crude rule beside it:\n")
    sharing()


if __name__ == "__main__":
    if sys.argv[1:2] == ["step"]:
        step(sys.argv[2])
    else:
        main()
