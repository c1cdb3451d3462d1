"""Our own transport beside gloo's all-reduce, on loopback: how long does an average take?

Starts workers of this same script. In each launch, all algorithms and gloo take turns on one
buffer, so that whatever else happens on the machine hits all alike; each time is that of the
slowest worker, and every result is checked.

    python bench/transport.py [--workers 2,4] [--sizes 1,5,25,100] [--repetitions 30] [--json]
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ALGORITHMS = ("ring", "tree", "hierarchical", "forest", "ps")
MB = 10**6
LONGEST_S = 280


def worker(sizes: list[int], repetitions: int) -> None:
    """One process: prints, as worker 0, a row for each size and way."""
    import torch
    import torch.distributed as dist

    from paceline.run import stamps
    from paceline.run.ddp import transport
    from paceline.run.orders import Orders

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    world, rank, workers = dist.group.WORLD, dist.get_rank(), dist.get_world_size()
    half = workers // 2
    apart = [[one] for one in range(workers)]
    near = {"hierarchical": [list(range(half)), list(range(half, workers))]}
    ways = {
        name: transport(world, Orders(algorithm=name), near=near.get(name, apart), timeout_s=60)
        for name in ALGORITHMS
    }

    def gloo(buffer: torch.Tensor) -> None:
        dist.all_reduce(buffer)
        buffer /= workers

    def ours(name: str, buffer: torch.Tensor) -> None:
        ways[name].averaged(buffer, 0)
        ways[name].wait()

    def stamped(buffer: torch.Tensor) -> None:
        ours("ring", buffer)

    for size in sizes:
        buffer = torch.empty(size * MB // 4)
        turns = {"gloo": gloo, **{name: lambda b, name=name: ours(name, b) for name in ways}}
        turns["ring stamped"] = stamped
        times: dict[str, list[float]] = {name: [] for name in turns}
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(repetitions + 3):
                for name, way in turns.items():
                    buffer.fill_(1.0 + rank)
                    if name == "ring stamped":
                        stamps.begin(Path(folder) / "hops.jsonl")
                    dist.barrier()
                    began = time.perf_counter()
                    way(buffer)
                    took = torch.tensor(time.perf_counter() - began)
                    stamps.end()
                    if not torch.all(buffer == (workers + 1) / 2):
                        raise RuntimeError(f"{name} gives a wrong average")
                    dist.all_reduce(took, dist.ReduceOp.MAX)
                    if turn >= 3:  # the first ones warm up
                        times[name].append(took.item())
        if rank == 0:
            print(json.dumps({"workers": workers, "mb": size, "s": times}), flush=True)
    for way in ways.values():
        way.carrier.close()
    dist.destroy_process_group()


def launched(workers: int, sizes: str, repetitions: int) -> list[dict]:
    """The rows of one launch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"WORLD_SIZE": str(workers), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    command = [sys.executable, __file__, "--sizes", sizes, "--repetitions", str(repetitions)]
    processes = [
        subprocess.Popen(
            command,
            env=os.environ | where | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
        )
        for rank in range(workers)
    ]
    try:
        said = [process.communicate(timeout=LONGEST_S)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if any(process.returncode for process in processes):
        raise RuntimeError("a worker failed")
    return [json.loads(line) for line in said[0].splitlines()]


def ratio(ours: list[float], other: list[float]) -> tuple[float, float, float]:
    """How many times faster, in the median, with its 95 % interval by bootstrap."""
    values = np.array(other) / np.array(ours)
    draw = np.random.default_rng(0)
    picks = draw.choice(values, size=(4000, len(values)))
    low, high = np.quantile(np.median(picks, axis=1), (0.025, 0.975))
    return float(np.median(values)), float(low), float(high)


def section(rows: list[dict], repetitions: int) -> str:
    """The rows as a section of BENCHMARKS.md."""
    names = [*ALGORITHMS, "ring stamped"]
    lines = [
        f"| workers, size | gloo | {' | '.join(names)} |",
        f"|---|---:|{'---:|' * len(names)}",
    ]
    for row in rows:
        cells = []
        for name in names:
            middle, low, high = ratio(row["s"][name], row["s"]["gloo"])
            cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
        gloo = f"{1000 * statistics.median(row['s']['gloo']):.1f} ms"
        lines.append(f"| {row['workers']}, {row['mb']} MB | {gloo} | {' | '.join(cells)} |")
    cost = [ratio(row["s"]["ring stamped"], row["s"]["ring"]) for row in rows]
    stamps = ", ".join(
        f"{100 * (1 / middle - 1):+.1f} % ({row['workers']} workers, {row['mb']} MB)"
        for row, (middle, _, _) in zip(rows, cost, strict=True)
    )
    table = "\n".join(lines)
    return f"""## Transport beside gloo

Asked: is the average of a buffer over our own ring, with stamps, no slower than gloo's all-reduce
at 25 MB with 4 workers on loopback?

{table}

Each cell is gloo's time over ours, so 2 is twice as fast. Stamps cost the ring {stamps}.

Method: bench/transport.py; all ways take turns on one buffer of single precision, {repetitions}
times after 3 to warm up; a time is that of the slowest worker, including the division by the number
of workers; medians of the ratios turn by turn with 95 % intervals by bootstrap. Hierarchical has
two neighborhoods of half the workers, all else treats every worker as a machine of its own."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--sizes", default="1,5,25,100", help="in MB")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if "RANK" in os.environ:
        worker([int(size) for size in given.sizes.split(",")], given.repetitions)
        return
    rows: list[dict] = []
    for workers in given.workers.split(","):
        print(f"{workers} workers", file=sys.stderr)
        rows += launched(int(workers), given.sizes, given.repetitions)
    print(json.dumps(rows) if given.json else section(rows, given.repetitions))


if __name__ == "__main__":
    main()
