"""A data-parallel job whose configuration changes from phase to phase; `live.py` starts it.

    live_job.py PHASES.json TIMES.json

A phase names how many workers take part, the algorithm (`gloo` is torch's own all-reduce), the size
of buckets, micro-batches and steps. The first worker writes how long each step took on its clock.
Nothing in here knows of links, speeds or faults.
"""

import copy
import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import paceline

WIDTH, LAYERS, BATCH = 384, 5, 16


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def wrapped(phase: dict, groups: dict) -> DistributedDataParallel:
    """A fresh model whose gradients travel as the phase says."""
    plan = None if phase["algorithm"] == "gloo" else phase["algorithm"]
    return paceline.ddp(
        copy.deepcopy(network()),
        plan,
        bucket_cap_mb=phase["bucket_mb"],
        process_group=groups[phase["workers"]],
    )


def step(model: DistributedDataParallel, optimizer: torch.optim.Optimizer, micro: int) -> None:
    optimizer.zero_grad()
    for at in range(micro):
        inputs, labels = torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))
        model.require_backward_grad_sync = at == micro - 1
        nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()


def main(phases: Path, out: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    told = json.loads(phases.read_text())
    counts = sorted({phase["workers"] for phase in told})
    groups = {count: dist.new_group(list(range(count))) for count in counts}
    times: list[list[float]] = []
    for phase in told:
        dist.barrier()
        took: list[float] = []
        if rank < phase["workers"]:
            model = wrapped(phase, groups)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(phase["steps"]):
                began = time.perf_counter()
                step(model, optimizer, phase["micro"])
                took.append(time.perf_counter() - began)
            del model, optimizer
        times.append(took)
    if rank == 0:
        out.write_text(json.dumps(times))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
