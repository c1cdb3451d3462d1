"""How fast traces are read and in how much memory, beside HolisticTraceAnalysis.

Files are made here: training steps in the style of a recommendation model's timeline, written as
Kineto writes them, in three styles. Every figure comes from a process of its own that reads one
file with one thread; peers and we take turns, so that other work on the machine hits both alike.
The curve goes from 100,000 to 5 million entries; large files are of one style, made one after the
other in a temporary folder (1.4 GB at most). `--most N` leaves out larger ones, `--json` prints all
figures instead.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from kineto_files import STYLES, write

COUNTS = (100_000, 300_000, 1_000_000, 3_000_000, 5_000_000)
LARGE, LARGE_RUNS = 1_000_000, 2  # of larger files one style, read twice
COMPARED = 300_000
RUNS = 5
ASKED_PER_S, ASKED_TIMES, ASKED_BYTES = 400_000, 7, 500

# Each process warms up on a small file, then reads the large one; peak memory is that of the
# whole process beyond what it held after the warm-up.
OURS = """
import json, resource, sys, time
from paceline import read
read.trace(sys.argv[2])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
before, cpu, wall = now(), time.process_time(), time.perf_counter()
trace = read.trace(sys.argv[1])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps({"s": wall, "cpu_s": cpu, "bytes": peak() - before, "events": len(trace)}))
"""
THEIRS = """
import json, logging, resource, sys, time, warnings
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
from hta.configs.parser_config import ParserConfig
def parsed(path, least):
    config = ParserConfig(ParserConfig.get_minimum_args()) if least else None
    trace = Trace(trace_files={0: path}, trace_dir="", parser_config=config)
    trace.parse_traces(use_multiprocessing=False)
    return trace.get_trace(0)
least = sys.argv[3] == "least"
parsed(sys.argv[2], least)
def now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
before, cpu, wall = now(), time.process_time(), time.perf_counter()
frame = parsed(sys.argv[1], least)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"s": wall, "cpu_s": cpu, "bytes": peak - before, "events": len(frame)}))
"""

HEAD = f"""## Load

Asked: {ASKED_PER_S:,} entries of a profiler's timeline a second on one core from plain JSON,
columns included; at most {ASKED_BYTES} bytes of memory an entry; {ASKED_TIMES} times the speed of
HolisticTraceAnalysis. Measured: files made by `kineto_files.py` in the layouts of three versions;
{{runs}} fresh processes a file ({LARGE_RUNS} above a million entries), each with one thread, after
a warm-up on a small file; memory is the peak of the process less what it held before. CPU seconds
are what is left of the time when other work on the machine is not counted.
"""
BESIDE = """Beside HolisticTraceAnalysis (`Trace.parse_traces` in one process with its default JSON
backend; once with the fewest columns it can keep, once as it comes), in turns on the same files;
median seconds, and the median ratio of a turn with the lowest and the highest:
"""

Figures = dict[str, float]


def measured(python: str, code: str, *words: str) -> Figures:
    """What a fresh process with one thread says of its work."""
    done = subprocess.run(
        [python, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    return json.loads(done.stdout.splitlines()[-1])


def curve(folder: Path, counts: tuple[int, ...], runs: int) -> list[dict[str, Any]]:
    """Our figures for each style and size."""
    small = folder / "small.json"
    write(small, 3_000, STYLES[1])
    found: list[dict[str, Any]] = []
    for count in counts:
        large = count > LARGE
        for style in STYLES[-1:] if large else STYLES:
            path = folder / "made.json"
            entries = write(path, count, style)
            size = path.stat().st_size
            print(f"{style}, {entries:,} entries", file=sys.stderr)
            turns = min(runs, LARGE_RUNS) if large else runs
            own = [measured(sys.executable, OURS, str(path), str(small)) for _ in range(turns)]
            found.append({"style": style, "entries": entries, "bytes": size, "runs": own})
            path.unlink()
    return found


def beside(folder: Path, peers: str, runs: int) -> list[dict[str, Any]]:
    """Us and the peer on the same files, in turns."""
    small = folder / "small.json"
    found: list[dict[str, Any]] = []
    for style in STYLES:
        path = folder / "rank_0.json"
        entries = write(path, COMPARED, style)
        print(f"{style}, beside the peer", file=sys.stderr)
        times: dict[str, list[float]] = {"ours": [], "least": [], "default": []}
        for _ in range(runs):
            times["ours"].append(measured(sys.executable, OURS, str(path), str(small))["s"])
            for how in ("least", "default"):
                theirs = measured(peers, THEIRS, str(path), str(small), how)
                times[how].append(theirs["s"])
        found.append({"style": style, "entries": entries, "s": times})
        path.unlink()
    return found


def table(rows: list[dict[str, Any]]) -> None:
    """Speed and memory by style and size."""
    print("| style | entries | MB | entries/s, best | median | worst | a CPU second | bytes each |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        rates = sorted(row["entries"] / run["s"] for run in row["runs"])
        cpu = max(row["entries"] / run["cpu_s"] for run in row["runs"])
        memory = statistics.median(run["bytes"] for run in row["runs"]) / row["entries"]
        print(
            f"| {row['style']} | {row['entries']:,} | {row['bytes'] / 1e6:,.0f} | {rates[-1]:,.0f} "
            f"| {statistics.median(rates):,.0f} | {rates[0]:,.0f} | {cpu:,.0f} | {memory:,.0f} |"
        )
    best = min(max(row["entries"] / run["s"] for run in row["runs"]) for row in rows)
    most = max(
        statistics.median(run["bytes"] for run in row["runs"]) / row["entries"] for row in rows
    )
    print(f"\nLeast of the best: {best:,.0f} entries/s (asked: {ASKED_PER_S:,}, ", end="")
    print(f"{'met' if best >= ASKED_PER_S else '**not met**'}). Most memory: {most:,.0f} bytes an ")
    print(f"entry (asked: {ASKED_BYTES}, {'met' if most <= ASKED_BYTES else '**not met**'}).\n")


def table_beside(rows: list[dict[str, Any]]) -> None:
    """Ratios of times that were measured in turns."""
    print("| style | ours s | peer s, fewest columns | times | peer s, default | times |")
    print("|---|---:|---:|---:|---:|---:|")
    lowest = float("inf")
    for row in rows:
        own, least, default = (row["s"][how] for how in ("ours", "least", "default"))
        cells = [f"{statistics.median(own):.2f}"]
        for theirs in (least, default):
            ratios = sorted(their / our for their, our in zip(theirs, own, strict=True))
            lowest = min(lowest, statistics.median(ratios))
            cells.append(f"{statistics.median(theirs):.2f}")
            cells.append(f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})")
        print(f"| {row['style']} | {' | '.join(cells)} |")
    met = "met" if lowest >= ASKED_TIMES else "**not met**"
    print(f"\nLeast median ratio: {lowest:.1f} (asked: {ASKED_TIMES}, {met}).")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--most", type=int, default=COUNTS[-1], help="entries of the largest file")
    words.add_argument("--json", action="store_true", help="all figures as JSON")
    words.add_argument("--runs", type=int, default=RUNS)
    words.add_argument("--peers", default=os.environ.get("PEERS_PYTHON", ""))
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = tuple(count for count in COUNTS if count <= given.most)
        rows = curve(folder, counts, given.runs)
        pairs = beside(folder, given.peers, max(1, given.runs - 2)) if given.peers else []
    if given.json:
        print(json.dumps({"load": rows, "beside": pairs}))
        return
    print(HEAD.format(runs=given.runs))
    table(rows)
    if not pairs:
        print("HolisticTraceAnalysis was left out: its environment (PEERS_PYTHON) is not there.")
        return
    print(BESIDE)
    table_beside(pairs)


if __name__ == "__main__":
    main()
