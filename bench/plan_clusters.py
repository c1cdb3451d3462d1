"""Clusters for `plan.py`: racks with mixed GPU classes, random regions, measured regions.

Measured rates and speeds lie outside of this repository: PACELINE_SHARED_DATA, or ../shared/data.
"""

import ast
import csv
import gzip
import json
import os
from pathlib import Path

import numpy as np

from paceline.model import Cluster, Job, Link, Machine, MachineKind

ROOT = Path(__file__).parent.parent
CLASSES = {"h100": 2.5, "a100": 1.0, "v100": 0.45}
RACK = 16
GBIT = 1e9 / 8


def mixed_racks(count: int, seed: int) -> Cluster:
    """Racks under pods under a core; most racks hold one class, some hold all three."""
    draw = np.random.default_rng(seed)
    machines: list[Machine] = []
    links: list[Link] = []
    names = list(CLASSES)
    racks = -(-count // RACK)
    for rack in range(racks):
        mixed = draw.random() < 0.3
        kind = str(draw.choice(names, p=[0.25, 0.4, 0.35]))
        nic = float(draw.choice([10, 25, 50]))
        for at in range(rack * RACK, min(count, (rack + 1) * RACK)):
            own = str(draw.choice(names)) if mixed else kind
            machines.append(
                Machine(
                    name=f"m{at}", kind=own, zone=f"rack{rack}", speed=float(draw.normal(1, 0.03))
                )
            )
            links.append(Link(a=f"m{at}", b=f"rack{rack}", bytes_per_s=nic * GBIT, latency_ns=5000))
        up = float(draw.choice([25, 50, 100, 200])) * GBIT
        links.append(Link(a=f"rack{rack}", b=f"pod{rack // 16}", bytes_per_s=up, latency_ns=10_000))
    for pod in range(-(-racks // 16)):
        up = float(draw.choice([100, 400])) * GBIT
        links.append(Link(a=f"pod{pod}", b="core", bytes_per_s=up, latency_ns=10_000))
    return Cluster(kinds=_kinds(CLASSES), machines=tuple(machines), links=tuple(links))


def _kinds(speeds: dict[str, float]) -> tuple[MachineKind, ...]:
    return tuple(MachineKind(name=name, speed=speed) for name, speed in speeds.items())


def rack_job(count: int, seed: int = 1) -> Job:
    """Gradients of 100 to 800 MB; as many workers as a third of the machines are worth having."""
    draw = np.random.default_rng(seed)
    return Job(
        gradient_bytes=int(draw.choice([100, 200, 400, 800])) * 10**6, local_batch=32,
        step_time_ns={"a100": int(draw.choice([120, 250, 500])) * 10**6},
        steps_at_large_batch=10_000.0, n_crit=count / 3,
    )  # fmt: skip


def regions(seed: int, count: int = 10) -> Cluster:
    """Machines of three classes, one a region, about half the pairs linked, uneven each way."""
    draw = np.random.default_rng(seed)
    speeds = {"slow": 0.5, "mid": 1.0, "fast": 2.0}
    machines = tuple(
        Machine(
            name=f"m{at}", kind=str(draw.choice(list(speeds))), speed=float(draw.uniform(0.8, 1.2))
        )
        for at in range(count)
    )  # fmt: skip
    links = tuple(
        Link(
            a=f"m{one}", b=f"m{other}",
            bytes_per_s=float(draw.lognormal(1, 0.8)) * GBIT,
            back_bytes_per_s=float(draw.lognormal(1, 0.8)) * GBIT,
        )
        for one in range(count)
        for other in range(one)
        if one - other in (1, count - 1) or draw.random() < 0.4
    )  # fmt: skip
    return Cluster(kinds=_kinds(speeds), machines=machines, links=links)


def region_job(seed: int) -> Job:
    """Communication and compute weigh alike between regions."""
    draw = np.random.default_rng(seed)
    return Job(
        gradient_bytes=int(draw.choice([20, 100, 400])) * 10**6, local_batch=32,
        step_time_ns={"mid": int(draw.choice([500, 1000, 2000])) * 10**6},
        steps_at_large_batch=10_000.0, n_crit=float(draw.choice([4, 8, 16])),
    )  # fmt: skip


def shared_regions(seed: int, count: int = 24) -> tuple[Cluster, Job] | None:
    """Measured rates between cloud regions, one GPU class in each; None without the data."""
    folder = Path(os.environ.get("PACELINE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    path = folder / "network" / "skyplane-throughput.csv.gz"
    if not path.is_file():
        return None
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    rate = {
        (row["src_region"], row["dst_region"]): float(row["throughput_sent"]) / 8
        for row in rows
        if row["throughput_sent"] and float(row["throughput_sent"]) > 0
    }
    draw = np.random.default_rng(seed)
    names = sorted({one for pair in rate for one in pair})
    names = sorted(draw.choice(names, count, replace=False).tolist())
    speeds = _gavel(folder)
    kinds = list(speeds)
    machines = tuple(
        Machine(name=name, kind=str(draw.choice(kinds, p=[0.3, 0.4, 0.3]))) for name in names
    )
    links = tuple(
        Link(a=a, b=b, bytes_per_s=rate[a, b], back_bytes_per_s=rate[b, a])
        for a in names
        for b in names
        if a < b and (a, b) in rate and (b, a) in rate
    )
    job = Job(
        gradient_bytes=102_000_000, local_batch=64,
        step_time_ns={"v100": round(1e9 / speeds["v100"])}, steps_at_large_batch=50_000.0,
        n_crit=float(draw.choice([8, 16, 32])),
    )  # fmt: skip
    return Cluster(kinds=_kinds(speeds), machines=machines, links=links), job


def _gavel(folder: Path) -> dict[str, float]:
    """Steps per second of ResNet-50, batch 64, alone on one GPU of each kind."""
    with gzip.open(folder / "network" / "gavel-throughputs.json.gz", "rt") as file:
        found = json.load(file)
    speeds: dict[str, float] = {}
    for kind in ("v100", "p100", "k80"):
        for job, partners in found[kind].items():
            name, workers = ast.literal_eval(job)
            if name == "ResNet-50 (batch size 64)" and workers == 1:
                speeds[kind] = float(partners["null"])
    return speeds
