"""A small training job to profile: data-parallel by DistributedDataParallel on gloo.

    torchrun --nproc-per-node 4 examples/train.py --trace RUN --slow-rank 2

Each worker writes its own trace, RUN/rank<N>.json.gz, with torch.profiler. With --slow-rank one
worker sleeps in the middle of every backward. Next to the gradients, neighbors exchange a small
tensor by send and receive, as the stages of a pipeline would.
"""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trace", type=Path, metavar="FOLDER", help="write traces here")
    parser.add_argument("--steps", type=int, default=8, help="steps that are recorded")
    parser.add_argument("--warm-up", type=int, default=4, help="steps before that")
    parser.add_argument("--width", type=int, default=512, help="width of the hidden layers")
    parser.add_argument("--batch", type=int, default=64, help="samples per worker and step")
    parser.add_argument("--slow-rank", type=int, help="the worker that sleeps in backward")
    parser.add_argument("--slow-ms", type=float, default=60.0, help="how long it sleeps")
    parser.add_argument("--bucket-mb", type=float, default=1.0, help="DDP's bucket_cap_mb")
    return parser.parse_args()


def model(width: int) -> nn.Sequential:
    torch.manual_seed(1)
    layers: list[nn.Module] = [nn.Linear(64, width), nn.ReLU()]
    for _ in range(2):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def slow_down(net: nn.Sequential, seconds: float) -> None:
    """Makes every backward pause before the gradient of the third layer."""
    net[2].register_full_backward_pre_hook(lambda *_: time.sleep(seconds))


def exchange(rank: int, workers: int) -> None:
    """Sends a small tensor to the next worker and receives one from the worker before."""
    mine, theirs = torch.full((4096,), float(rank)), torch.empty(4096)
    sending = dist.isend(mine, (rank + 1) % workers, tag=1)
    dist.recv(theirs, (rank - 1) % workers, tag=1)
    sending.wait()


def train(net: nn.Module, options: argparse.Namespace, rank: int, prof: profile | None) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(100 + rank)
    for _ in range(options.warm_up + options.steps):
        inputs = torch.randn(options.batch, 64, generator=generator)
        labels = (inputs.sum(dim=1) > 0).long()
        loss = nn.functional.cross_entropy(net(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        exchange(rank, dist.get_world_size())
        if prof is not None:
            prof.step()


def main() -> None:
    options = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = model(options.width)
    if rank == options.slow_rank:
        slow_down(net, options.slow_ms / 1000)
    parallel = DistributedDataParallel(net, bucket_cap_mb=options.bucket_mb)
    if options.trace is None:
        train(parallel, options, rank, None)
    else:
        options.trace.mkdir(parents=True, exist_ok=True)
        with profile(
            activities=[ProfilerActivity.CPU],
            record_shapes=True,  # without shapes, the sizes of gloo's messages stay unknown
            schedule=schedule(wait=options.warm_up - 1, warmup=1, active=options.steps),
            on_trace_ready=lambda prof: prof.export_chrome_trace(
                os.fspath(options.trace / f"rank{rank}.json.gz")
            ),
        ) as prof:
            train(parallel, options, rank, prof)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
