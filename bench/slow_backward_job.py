"""One worker of a data-parallel job whose backward is delayed on some workers in some steps.

Run by bench/slow_backward.py, one process a worker, with RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT in the environment:

    python bench/slow_backward_job.py FOLDER '[[null, null, 0, ""], [2, 1, 0.2, "sleep"]]' ROUNDS

Every setting is (worker, layer, seconds, how). Each round takes one step of every setting, in an
order that all workers draw alike, so that whatever else happens on the machine hits all settings
alike. The profiler records all steps; `steps<rank>.json` says which step had which setting, and how
long it took by the worker's own clock.
"""

import json
import os
import random
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

WARM_UP = 6
WIDTH, BATCH, LAYERS = 384, 64, 5
OWN = 512  # width of the multiplications that a computing delay does


class Delay:
    """What the current step adds to this worker's backward: nothing, or some seconds at a layer."""

    def __init__(self) -> None:
        self.layer: int | None = None
        self.seconds, self.how = 0.0, ""
        self.matrix = torch.rand(OWN, OWN)
        self.one_s = self._measured()

    def _measured(self) -> float:
        """Seconds of one multiplication."""
        best = 1.0  # the least of many: other workers warm up at the same time
        for _ in range(100):
            start = time.perf_counter()
            torch.mm(self.matrix, self.matrix)
            best = min(best, time.perf_counter() - start)
        return best

    def at(self, layer: int) -> None:
        if self.layer != layer:
            return
        if self.how == "sleep":
            time.sleep(self.seconds)
            return
        for _ in range(max(1, round(self.seconds / self.one_s))):
            torch.mm(self.matrix, self.matrix)


def model(delay: Delay) -> nn.Sequential:
    torch.manual_seed(1)
    sizes = [64, *([WIDTH] * (LAYERS - 1)), 10]
    layers: list[nn.Module] = []
    for at, (wide, high) in enumerate(pairwise(sizes)):
        linear = nn.Linear(wide, high)
        if at:  # the gradient of the input layer goes nowhere
            linear.register_full_backward_pre_hook(lambda *_, at=at: delay.at(at))
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def train(net: nn.Module, delay: Delay, settings: list, order: list[int], prof: profile) -> list:
    rank = dist.get_rank()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + rank)
    rows = []
    for number, at in enumerate(order):
        worker, layer, seconds, how = settings[at]
        delay.layer = layer if worker == rank else None
        delay.seconds, delay.how = seconds, how
        start = time.perf_counter()
        inputs = torch.randn(BATCH, 64, generator=generator)
        labels = (inputs.sum(dim=1) > 0).long()
        loss = nn.functional.cross_entropy(net(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows.append([number, at, time.perf_counter() - start])
        prof.step()
    return rows


def main() -> None:
    folder, settings, rounds = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    draw = random.Random(0)
    order = [0] * WARM_UP
    for _ in range(rounds):
        order += draw.sample(range(len(settings)), len(settings))
    delay = Delay()
    net = DistributedDataParallel(model(delay), bucket_cap_mb=1)
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        schedule=schedule(wait=WARM_UP - 1, warmup=1, active=len(order) - WARM_UP),
        on_trace_ready=lambda prof: prof.export_chrome_trace(os.fspath(folder / f"all{rank}.json")),
    ) as prof:
        rows = train(net, delay, settings, order, prof)
    (folder / f"steps{rank}.json").write_text(json.dumps(rows[WARM_UP:]))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
