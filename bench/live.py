"""Predicting what was not seen: recorded at one configuration, measured at more than thirty others.

The lab runs a data-parallel job (`live_job.py`) over the links of a cluster. One configuration is
recorded; the predictor is `paceline whatif`, a process of its own that gets the RUN folder and an
edit, nothing else. Then all configurations run for real, interleaved in four blocks of thirty steps
each. Without `--unpadded` compute is padded to a given length, with it workers compute as fast as
two cores let them. One configuration has a hidden fault that no edit tells: its error must show.

    python bench/live.py [--json] [--only WORD] [--blocks 4] [--keep FOLDER]
"""

import argparse
import dataclasses
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from live_report import drawn, section

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
JOB = ROOT / "bench" / "live_job.py"
MBIT, COMPUTE, WORKERS, BUCKET_MB = 300, "80ms", 4, 1.0
DROPPED = 3  # first steps of a block: buckets are laid out, links change
WARM = 8
SEED = 11


@dataclass(frozen=True, kw_only=True)
class Config:
    """A configuration: the edits that the predictor is told, and what then really runs."""

    name: str
    edits: tuple[str, ...] = ()
    workers: int = WORKERS
    algorithm: str = "ring"
    bucket_mb: float = BUCKET_MB
    micro: int = 1
    links: float = 1.0  # factor on all rates
    link1: float = 1.0  # factor on the link of the second machine
    slow1: float = 1.0  # how much longer the second worker computes
    hidden: float = 1.0  # how much longer it does, of which no edit tells
    tags: tuple[str, ...] = field(default=())


def mib(megabytes: float) -> str:
    return f"{round(megabytes * 2**20)}"


def configs() -> list[Config]:
    """All configurations; the first is the one that is recorded."""
    all_, one = "speed{{link=all,factor={}}}", "speed{{link=m1-switch,factor={}}}"
    made = [Config(name="as recorded")]
    for size in (2, 4, 8):
        edit = f"fuse-buckets{{limit_bytes={mib(size)}}}"
        made.append(Config(name=f"buckets of {size} MiB", edits=(edit,), bucket_mb=size))
    edit = f"split-buckets{{limit_bytes={mib(0.5)}}}"
    made.append(Config(name="buckets of 0.5 MiB", edits=(edit,), bucket_mb=0.5))
    for count in (2, 3, 5, 6, 8):
        edit = f"workers{{count={count}}}"
        made.append(Config(name=f"{count} workers", edits=(edit,), workers=count))
    made += [
        Config(name=f"links x {factor}", edits=(all_.format(factor),), links=factor)
        for factor in (0.3, 0.5, 1.5, 3)
    ]
    made += [
        Config(name=f"one link x {factor}", edits=(one.format(factor),), link1=factor)
        for factor in (0.3, 0.6)
    ]
    for factor in (1.25, 1.5, 2):
        edit = f"speed{{worker=1,factor={1 / factor:.6f}}}"
        made.append(Config(name=f"one worker / {factor}", edits=(edit,), slow1=factor))
    for algorithm in ("tree", "ps", "forest"):
        edit = f"collective{{algorithm={algorithm}}}"
        made.append(Config(name=algorithm, edits=(edit,), algorithm=algorithm))
    for micro in (2, 4):
        edit = f"accumulate{{steps={micro}}}"
        made.append(Config(name=f"{micro} micro-batches", edits=(edit,), micro=micro))
    fuse = f"fuse-buckets{{limit_bytes={mib(8)}}}"
    made += [
        Config(name="8 workers, one bucket", edits=("workers{count=8}", fuse), workers=8,
               bucket_mb=8),
        Config(name="links x 3, one bucket", edits=(all_.format(3), fuse), links=3, bucket_mb=8),
        Config(name="ps, links x 3", edits=("collective{algorithm=ps}", all_.format(3)),
               algorithm="ps", links=3),
        Config(name="tree, one link x 0.5", edits=("collective{algorithm=tree}", one.format(0.5)),
               algorithm="tree", link1=0.5),
        Config(name="2 micro-batches, links x 0.5",
               edits=("accumulate{steps=2}", all_.format(0.5)), micro=2, links=0.5),
        Config(name="one worker / 2, links x 3",
               edits=("speed{worker=1,factor=0.5}", all_.format(3)), slow1=2, links=3),
        Config(name="3 workers, tree", edits=("workers{count=3}", "collective{algorithm=tree}"),
               workers=3, algorithm="tree"),
        Config(name="2 workers, links x 0.5", edits=("workers{count=2}", all_.format(0.5)),
               workers=2, links=0.5),
        Config(name="3 workers, ps", edits=("workers{count=3}", "collective{algorithm=ps}"),
               workers=3, algorithm="ps"),
        Config(name="one bucket, with a hidden slow worker", edits=(fuse,), bucket_mb=8, hidden=2,
               tags=("hidden",)),
    ]  # fmt: skip
    return made


def unpadded() -> list[Config]:
    """Those that run on real compute: what pads compute makes no sense there."""
    kept = ("as recorded", "buckets", "links x", "tree", "ps", "forest", "2 workers", "3 workers")
    return [
        one
        for one in configs()
        if one.name.startswith(kept) and one.slow1 == 1 and one.workers <= WORKERS
    ]


def cluster(folder: Path, count: int) -> Path:
    """A cluster file: machines around one switch."""
    machines = [{"name": f"m{at}"} for at in range(count)]
    links = [{"a": f"m{at}", "b": "sw", "rate": f"{MBIT}Mbit/s"} for at in range(count)]
    path = folder / f"cluster{count}.yaml"
    path.write_text(json.dumps({"machines": machines, "links": links}))
    return path


def phase(config: Config, steps: int) -> dict:
    told = dataclasses.asdict(config)
    return {key: told[key] for key in ("workers", "algorithm", "bucket_mb", "micro")} | {
        "steps": steps
    }


def faults(config: Config, step: int, until: int, machines: int) -> list[dict]:
    """What makes the lab behave like the configuration from a step until before another."""
    when = {"step": step, "until": until}
    found: list[dict] = []
    for at in range(machines):
        factor = config.links * (config.link1 if at == 1 else 1.0)
        if factor != 1:
            rate = f"{round(MBIT * factor * 1000)}kbit"
            found.append({"limit": {"a": f"m{at}", "b": "sw", "rate": rate, **when}})
    for worker, factor in ((1, config.slow1), (1, config.hidden)):  # the second is in every phase
        if factor != 1:
            found.append({"slow": {"worker": worker, "factor": factor, **when}})
    return found


def lab(folder: Path, count: int, words: list[str], told: list[dict], padded: bool) -> None:
    """One launch in the lab."""
    schedule = folder / "faults.yaml"
    schedule.write_text(json.dumps({"faults": told}))
    compute = COMPUTE if padded else "off"
    subprocess.run(
        [str(BIN / "paceline"), "lab", "run", str(cluster(folder, count)), "--compute", compute,
         "--faults", str(schedule), "--show", "first", "--timeout", "40min", "--seed", str(SEED),
         "--", *words],
        check=True, cwd=folder, stdout=sys.stderr,
    )  # fmt: skip


def job(folder: Path, phases: list[dict]) -> tuple[list[str], Path]:
    (folder / "phases.json").write_text(json.dumps(phases))
    times = folder / "times.json"
    return [str(BIN / "torchrun"), str(JOB), str(folder / "phases.json"), str(times)], times


def recorded(folder: Path, padded: bool) -> Path:
    """The RUN folder of the first configuration."""
    run = folder / "RUN"
    words, _ = job(folder, [phase(configs()[0], WARM + 40)])
    window = f"{WARM}:{WARM + 32}"
    record = [str(BIN / "paceline"), "record", "-o", str(run), "--window", window, "--"]
    lab(folder, WORKERS, [*record, *words], [], padded)
    return run


def measured(
    folder: Path, chosen: list[Config], blocks: int, padded: bool
) -> dict[str, np.ndarray]:
    """Seconds of each step of each configuration, (block, step), from one launch."""
    most = max(config.workers for config in chosen)
    order, phases, told = [], [phase(Config(name="warm", workers=most), WARM)], list[dict]()
    step, draw = WARM, random.Random(SEED)
    for _ in range(blocks):
        for config in draw.sample(chosen, len(chosen)):
            steps = DROPPED + 30
            order.append(config.name)
            phases.append(phase(config, steps))
            told += faults(config, step, step + steps, most)
            step += steps
    words, times = job(folder, phases)
    lab(folder, most, words, told, padded)
    found: dict[str, list[list[float]]] = {}
    for name, took in zip(order, json.loads(times.read_text())[1:], strict=True):
        found.setdefault(name, []).append(took[DROPPED:])
    return {name: np.array(rows) for name, rows in found.items()}


def predicted(run: Path, config: Config) -> float:
    """Seconds of a step, as a process says that gets the RUN folder and the edits only."""
    edits = config.edits or ("speed{kind=compute,factor=1}",)
    words = [word for edit in edits for word in ("--edit", edit)]
    done = subprocess.run(
        [str(BIN / "paceline"), "whatif", str(run), *words, "--json"],
        check=True, cwd=run.parent, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)["together"]["step_ms"] / 1000


def row(config: Config, run: Path, steps: np.ndarray) -> dict:
    """Predicted and measured, with the 95 % interval of the measured median over blocks."""
    draw = np.random.default_rng(SEED)
    medians = [np.median(steps[draw.integers(0, len(steps), len(steps))]) for _ in range(400)]
    value = float(np.median(steps))
    said = predicted(run, config)
    return {
        "name": config.name, "edits": config.edits, "hidden": "hidden" in config.tags,
        "predicted_ms": 1000 * said, "measured_ms": 1000 * value,
        "interval_ms": [1000 * float(end) for end in np.quantile(medians, [0.025, 0.975])],
        "noise": float((np.quantile(steps, 0.9) - np.quantile(steps, 0.1)) / 2 / value),
        "steps": int(steps.size), "error": said / value - 1,
        "samples": config.workers * config.micro,
    }  # fmt: skip


def rows(folder: Path, padded: bool, blocks: int, only: str) -> list[dict]:
    """All configurations, predicted before and beside measured."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in (configs() if padded else unpadded()) if only in one.name]
    run = recorded(folder, padded)
    steps = measured(folder, chosen, blocks, padded)
    return [row(config, run, steps[config.name]) for config in chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", metavar="WORD", help="configurations with this word")
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--part", choices=("padded", "unpadded"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = given.keep or Path(own)
        parts = {
            name: rows(folder / name, name == "padded", given.blocks, given.only)
            if given.part in (None, name)
            else []
            for name in ("padded", "unpadded")
        }
    if given.json or given.part:
        print(json.dumps(parts, indent=1))
        return
    drawn(parts["padded"], parts["unpadded"], ROOT / "docs" / "images" / "live.svg")
    print(section(parts["padded"], parts["unpadded"], MBIT))


if __name__ == "__main__":
    main()
