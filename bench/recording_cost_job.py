"""The job of `recording_cost.py`: blocks of steps that are not recorded, recorded, and profiled.

    torchrun ... recording_cost_job.py RUN OUT ROUNDS PAD_MS

Two copies of a model train in turn: one that the recorder never saw, and one that it watches. The
three kinds of block come in an order that is drawn anew in each round, alike on all workers.
"""

import json
import random
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import paceline
from paceline.run.record_patch import Door

KINDS = ("off", "on", "window")
BEFORE, MEASURED, AFTER = 2, 10, 1  # steps of a block; windows open and close in the others
WIDTH = 512


def model() -> nn.Module:
    torch.manual_seed(1)
    hidden = [nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), *hidden, nn.Linear(WIDTH, 10))


class Training:
    def __init__(self, pad_s: float) -> None:
        self.net = DistributedDataParallel(model(), bucket_cap_mb=1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.pad_s = pad_s
        self.random = torch.Generator().manual_seed(100 + dist.get_rank())

    def step(self) -> float:
        """One step and how long it took; part of it sleeps, as a device computes."""
        began = time.perf_counter()
        inputs = torch.randn(16, 64, generator=self.random)
        labels = (inputs.sum(dim=1) > 0).long()
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.net(inputs), labels)
        if self.pad_s:
            time.sleep(self.pad_s)
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - began


def rounds(count: int) -> list[str]:
    draw, order = random.Random(1), []
    for _ in range(count):
        order += draw.sample(KINDS, len(KINDS))
    return order


def windows(order: list[str]) -> list[str]:
    """What the recorder is to profile, in steps that it counts: those of the blocks it sees."""
    found, step = [], 0
    for kind in order:
        if kind == "window":
            found.append(f"{step + BEFORE}:{step + BEFORE + MEASURED + AFTER}")
        step += (BEFORE + MEASURED + AFTER) * (kind != "off")
    return found


def main() -> None:
    run, out, count, pad_ms = Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:5])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    order = rounds(int(count))
    plain = Training(pad_ms / 1e3)
    times: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    with paceline.record(run, windows=windows(order)):
        assert Door.recorder is not None
        watched = Training(pad_ms / 1e3)
        Door.recorder.paused = True
        for training in (plain, watched):
            for _ in range(3):
                training.step()
        for kind in order:
            Door.recorder.paused = kind == "off"
            training = plain if kind == "off" else watched
            times[kind].append([training.step() for _ in range(BEFORE + MEASURED + AFTER)])
        Door.recorder.paused = False
        assert not Door.recorder.over, "the recording stopped"
    if dist.get_rank() == 0:
        out.write_text(json.dumps(times))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
