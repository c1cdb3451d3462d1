"""How long `paceline diagnose` takes in a new process, and how large its page is.

Writes traces of synthetic jobs, then runs the command as a user would: 8 workers of 15,000 events
with a warm and with an empty compile cache, once in the native format and once as the files of
PyTorch's profiler, and 1,024 workers for the size of the page.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import kineto_files
from jobs import Fault, Shape, traces
from paceline import write

RUNS = 7
FAULT = Fault(cause="slow_compute", worker=5, ms=30)
EIGHT = Shape(workers=8, steps=30, layers=120, buckets=10, kernel_ms=0.3)
MANY = Shape(workers=1024, steps=4, layers=6, buckets=2)


def asked(run: Path, cache: Path, *more: str) -> tuple[float, dict[str, object]]:
    """Seconds of one new process, and its report."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "paceline", "diagnose", str(run), "--json", *more],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        check=True,
    )
    return time.perf_counter() - start, json.loads(done.stdout)


def measured(folder: Path) -> dict[str, Any]:
    """All figures."""
    eight, many, cache = folder / "eight", folder / "many", folder / "cache"
    for path, shape in ((eight, EIGHT), (many, MANY)):
        path.mkdir()
        write.traces(traces(shape, FAULT), path / "job.jsonl")
    profiler = folder / "profiler"
    profiler.mkdir()
    for rank in range(8):
        path = profiler / f"rank_{rank}.json"
        kineto_files.write(path, 22_000, "torch 2.13", seed=rank, rank=rank)
    first, report = asked(eight, cache)
    warm = sorted(asked(eight, cache)[0] for _ in range(RUNS))
    profiled = asked(profiler, cache)[1]
    files = sorted(asked(profiler, cache)[0] for _ in range(RUNS))
    page = folder / "eight.html"
    asked(eight, cache, "--html", str(page))
    large = folder / "many.html"
    took, _ = asked(many, cache, "--html", str(large))
    return {
        "events": report["events"],
        "warm_s": statistics.median(warm),
        "warm_range_s": (warm[0], warm[-1]),
        "profiler_events": profiled["events"],
        "profiler_s": statistics.median(files),
        "profiler_range_s": (files[0], files[-1]),
        "first_s": first,
        "page_mb": page.stat().st_size / 1e6,
        "many_s": took,
        "many_page_mb": large.stat().st_size / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    if given.json:
        print(json.dumps(found))
        return

    def told(name: str) -> str:
        low, high = found[f"{name}_range_s"]
        return f"{found[name + '_s']:.2f} s ({low:.2f} to {high:.2f})"

    print(f"""## Diagnose: time and size

Asked: 8 workers x 15,000 events <= 3 s in a new process with a warm compile cache, the very first
ever <= 15 s; the page of 8 workers <= 5 MB, of 1,024 workers <= 8 MB.

| figure | measured |
|---|---:|
| 8 workers, {found["events"]:,} events, native format, warm | {told("warm")} |
| the same, empty compile cache | {found["first_s"]:.2f} s |
| 8 workers, {found["profiler_events"]:,} events, profiler files, warm | {told("profiler")} |
| page of 8 workers | {found["page_mb"]:.2f} MB |
| 1,024 workers, 4 steps, with page | {found["many_s"]:.1f} s |
| page of 1,024 workers | {found["many_page_mb"]:.2f} MB |

Method: bench/diagnose_speed.py; traces of synthetic jobs, read, stitched and diagnosed by the
command in a new process each; median of {RUNS} and range.""")


if __name__ == "__main__":
    main()
