"""What recording costs a job: outside the profiled window, inside it, and once for each window.

Steps that are not recorded, recorded, and profiled come in interleaved blocks of one launch of four
workers. A cost is the mean over rounds of the ratio of two blocks' median steps, less 1; it is
within a limit if the upper end of its one-sided 95 % interval is (a one-sided equivalence test).
Steps are padded by sleep, as a slower device would compute, and not.

    python bench/recording_cost.py [--json] [--rounds N]
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from scipy.stats import t

WORKERS, PAD_MS = 4, 50
LIMITS = {"on": 0.02, "window": 0.05}
BEFORE, MEASURED = 2, 10  # as in the job
JOB = Path(__file__).with_name("recording_cost_job.py")
Times = dict[str, list[list[float]]]


class Cost(NamedTuple):
    """The mean cost with the upper end of its one-sided 95 % interval, as shares and per step."""

    share: float
    upper: float
    us: float
    upper_us: float
    n: int


def measured(rounds: int, pad_ms: float) -> tuple[Times, int]:
    """Times of all steps by kind of block and round, and the bytes of the recording."""
    with tempfile.TemporaryDirectory() as folder:
        run, out = Path(folder) / "RUN", Path(folder) / "times.json"
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        words = [f"--nproc-per-node={WORKERS}", JOB, run, out, rounds, pad_ms]
        subprocess.run(
            [*launcher, *map(str, words)],
            env=os.environ | {"OMP_NUM_THREADS": "1", "TORCH_FR_BUFFER_SIZE": "4096"},
            check=True, stdout=sys.stderr,
        )  # fmt: skip
        size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
        return json.loads(out.read_text()), size


def blocks(times: Times, kind: str) -> list[float]:
    """The median step of each block in s, without the steps in which windows open and close.

    The recorder does the same in every step; a mean would show the rest of the machine.
    """
    return [statistics.median(block[BEFORE : BEFORE + MEASURED]) for block in times[kind]]


def cost(times: Times, kind: str) -> Cost:
    off, on = blocks(times, "off"), blocks(times, kind)
    ratio = [b / a - 1 for a, b in zip(off, on, strict=True)]
    apart = [1e6 * (b - a) for a, b in zip(off, on, strict=True)]
    (share, upper), (us, upper_us) = bounded(ratio), bounded(apart)
    return Cost(share, upper, us, upper_us, len(ratio))


def bounded(values: list[float]) -> tuple[float, float]:
    """The mean and the upper end of its one-sided 95 % interval."""
    mean, n = statistics.fmean(values), len(values)
    return mean, mean + float(t.ppf(0.95, n - 1)) * statistics.stdev(values) / math.sqrt(n)


def once_ms(times: Times) -> tuple[float, float]:
    """What a window takes beyond its steps: to open, and to be written."""
    usual = statistics.median(blocks(times, "on"))
    opened = [sum(block[:BEFORE]) - BEFORE * usual for block in times["window"]]
    written = [block[-1] - usual for block in times["window"]]
    return 1e3 * statistics.median(opened), 1e3 * statistics.median(written)


def report(padded: Times, bare: Times) -> str:
    step = 1e3 * statistics.median(blocks(padded, "off"))
    short = 1e3 * statistics.median(blocks(bare, "off"))
    lines = [
        "## Cost of recording",
        "",
        f"Asked: {WORKERS} workers on gloo lose at most 2 % of throughput while they are recorded,",
        "and at most 5 % inside a profiled window, on padded steps; without recording nothing.",
        f"Measured: steps of {step:.1f} ms, {PAD_MS} ms of it slept, and the same steps unpadded",
        f"({short:.1f} ms, more workers than cores). Blocks of {MEASURED} steps, not recorded,",
        "recorded and profiled, in drawn order; the cost is the mean over rounds of how far their",
        "median steps are apart, with the upper end of its one-sided 95 % interval, which must be",
        "below the limit. Three buckets, 2.3 MB of gradients, norms included.",
        "",
        "| steps | | cost | upper end | µs a step | upper end | rounds | asked | met |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for title, times in (("padded", padded), ("unpadded", bare)):
        for kind, limit in LIMITS.items():
            found = cost(times, kind)
            asked = f"{100 * limit:.0f} %" if title == "padded" else ""
            met = "" if not asked else "yes" if found.upper <= limit else "**no**"
            what = "outside the window" if kind == "on" else "inside"
            lines.append(
                f"| {title} | {what} | {100 * found.share:.2f} % | {100 * found.upper:.2f} % | "
                f"{found.us:.0f} | {found.upper_us:.0f} | {found.n} | {asked} | {met} |"
            )
    opened, written = once_ms(padded)
    once = f"A window takes {opened:.0f} ms to open and {written:.0f} ms to be written (medians)."
    return "\n".join([*lines, "", once])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    padded, size = measured(options.rounds, PAD_MS)
    bare, _ = measured(2 * options.rounds, 0)
    if options.json:
        view = {
            "workers": WORKERS, "pad_ms": PAD_MS, "run_bytes": size,
            "padded": {kind: cost(padded, kind)._asdict() for kind in LIMITS},
            "unpadded": {kind: cost(bare, kind)._asdict() for kind in LIMITS},
            "step_ms": 1e3 * statistics.median(blocks(padded, "off")),
            "window_ms": once_ms(padded),
        }  # fmt: skip
        print(json.dumps(view, indent=2))
    else:
        print(report(padded, bare))


if __name__ == "__main__":
    main()
