"""A training script that knows nothing of any recorder; writes what it computed, to compare.

    torchrun ... recorded_job.py OUT [STEP]

With STEP worker 1 kills itself in that step.
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

STEPS = 16


class Partly(nn.Module):
    """A model of which every second pass leaves a part unused."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.other, self.passes = nn.Linear(16, 10), nn.Linear(16, 10), 0

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        return self.first(inputs) if self.passes % 2 else self.other(inputs)


def model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 300), nn.ReLU(), nn.Linear(300, 300), nn.Linear(300, 10))


def parallel(net: nn.Module, **options: object) -> DistributedDataParallel:
    return DistributedDataParallel(net, bucket_cap_mb=0.2, **options)


class Job:
    def __init__(self, out: Path, fatal: int | None) -> None:
        self.rank, self.out, self.fatal, self.step = dist.get_rank(), out, fatal, 0
        self.random = torch.Generator().manual_seed(100 + self.rank)
        self.found: dict[str, object] = {}

    def loss(self, net: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
        labels = (inputs.sum(dim=1) > 0).long()
        return nn.functional.cross_entropy(net(inputs), labels)

    def inputs(self) -> torch.Tensor:
        return torch.randn(32, 16, generator=self.random)

    def train(self, name: str, net: DistributedDataParallel, steps: int = 4, **options) -> None:
        """Trains and keeps a digest of the parameters and gradients, to the last bit."""
        keep, micro = options.get("keep", False), options.get("micro", 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        norms = []
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=not keep)
            for turn in range(micro):
                inputs = self.inputs()
                local = self.local(net.module, inputs) if name == "plain" else None
                with net.no_sync() if turn < micro - 1 else contextlib.nullcontext():
                    loss = self.loss(net, inputs)
                    loss.backward()
            if local is not None:
                norms.append([loss.item(), local, squared(p.grad for p in net.parameters())])
            optimizer.step()
            self.step += 1
            if self.rank == 1 and self.step == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        digest = hashlib.sha256()
        for parameter in net.parameters():
            digest.update(parameter.detach().numpy().tobytes())
            if parameter.grad is not None:
                digest.update(parameter.grad.numpy().tobytes())
        self.found[name] = digest.hexdigest()
        if norms:
            self.found["norms"] = norms

    def local(self, net: nn.Module, inputs: torch.Tensor) -> float:
        """The squared norm of this worker's own gradient, computed apart."""
        own = torch.autograd.grad(self.loss(net, inputs), list(net.parameters()))
        return squared(own)

    def pair(self) -> None:
        """Two modules with an optimizer each, which step after both backwards."""
        torch.manual_seed(2)
        nets = [parallel(nn.Linear(16, 10)), parallel(nn.Linear(16, 10))]
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
        for _ in range(4):
            inputs = self.inputs()
            for net, optimizer in zip(nets, optimizers, strict=True):
                optimizer.zero_grad()
                self.loss(net, inputs).backward()
            for optimizer in optimizers:
                optimizer.step()
        self.found["pair"] = [squared(net.parameters()) for net in nets]


def squared(tensors) -> float:
    return float(sum(tensor.detach().double().square().sum() for tensor in tensors))


def main() -> None:
    out, fatal = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    job = Job(out, fatal)
    job.train("plain", parallel(model()), STEPS)
    job.train("views", parallel(model(), gradient_as_bucket_view=True), keep=True)
    job.train("accumulated", parallel(model()), micro=3)
    job.train("unused", parallel(Partly(), find_unused_parameters=True))
    job.pair()
    half = parallel(model())
    half.register_comm_hook(None, default_hooks.fp16_compress_hook)
    job.train("half", half)
    dist.new_group([0, dist.get_world_size() - 1])
    (out / f"{job.rank}.json").write_text(json.dumps(job.found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
