"""The training job of the demo: a small model on four workers, whose gradients travel in a ring.

    torchrun --standalone --nproc-per-node 4 --max-restarts 1 train.py STEPS CHECKPOINT PLAN

Saves its state now and then, and goes on from there when torchrun starts it again. PLAN is the file
of a plan or the name of an algorithm. With DEMO_SLOW_LINK, worker 1 sends no faster than that.
"""

import os
import sys
from pathlib import Path

# before torch: each worker stands for a machine of its own
os.environ["PACELINE_MACHINE"] = f"m{os.environ['RANK']}"

import torch
import torch.distributed as dist
from torch import nn

import paceline

WIDTH, LAYERS, BATCH, EVERY = 256, 5, 32, 5


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def saved(net: nn.Module, step: int, path: Path) -> None:
    part = path.with_suffix(".part")
    torch.save({"net": net.state_dict(), "step": step}, part)
    part.replace(path)


def meet() -> None:
    """Joins the others of this attempt; addresses of an earlier one are still in the store."""
    env = os.environ
    store = dist.TCPStore(env["MASTER_ADDR"], int(env["MASTER_PORT"]), is_master=False)
    own = dist.PrefixStore(f"attempt {env.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
    rank, size = int(env["RANK"]), int(env["WORLD_SIZE"])
    dist.init_process_group("gloo", store=own, rank=rank, world_size=size)


def main(steps: int, checkpoint: Path, plan: str) -> None:
    torch.set_num_threads(1)
    meet()
    rank, net, first = dist.get_rank(), network(), 0
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=True)
        net.load_state_dict(state["net"])
        first = state["step"]
    pace = os.environ.get("DEMO_SLOW_LINK") if rank == 1 else None
    model = paceline.ddp(net, plan, pace=pace or None, bucket_cap_mb=0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    draw = torch.Generator().manual_seed(rank)
    for step in range(first, steps):
        inputs = torch.randn(BATCH, WIDTH, generator=draw)
        labels = (inputs[:, :10]).argmax(dim=1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        if rank == 0 and step % EVERY == EVERY - 1:
            saved(net, step + 1, checkpoint)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
