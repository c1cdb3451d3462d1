"""One worker that records itself: a cut window, a profiler of its own, steps by hand.

python recorded_blocks.py FOLDER
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import paceline

NORMAL = [DistributedDataParallel.__init__, torch.Tensor.backward]


def train(net: nn.Module, steps: int, recording=None) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(4, 8)).sum().backward()
        if recording is None:
            optimizer.step()
        else:
            recording.step()


def main() -> None:
    root = Path(sys.argv[1])
    assert [DistributedDataParallel.__init__, torch.Tensor.backward] == NORMAL
    dist.init_process_group("gloo")
    net = DistributedDataParallel(nn.Linear(8, 8))
    with paceline.record(root / "cut", windows=["2:100", "200:300"], modules=[net]):
        train(net, 8)
    with paceline.record(root / "own", windows=["1:3", "4:90"]):
        train(net, 6)
        with torch.profiler.profile() as own:
            train(net, 2)
        assert len(own.events())
    with paceline.record(root / "hand", windows=["3:6"]) as recording:
        with paceline.record(root / "ignored") as inner:
            assert inner.folder == recording.folder
        train(net, 8, recording)
    with paceline.record(root / "file" / "in the way"):
        train(net, 2)
    train(net, 2)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
