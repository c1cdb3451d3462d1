"""One worker of a job whose profiler and transport are both recorded, as a RUN folder.

python hops_job.py RUN PLAN STEPS
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, schedule

import paceline
from paceline.run import stamps

WARM_UP = 5


def main() -> None:
    run, plan, steps = (
        Path(sys.argv[1]),
        (None if sys.argv[2] == "none" else sys.argv[2]),
        int(sys.argv[3]),
    )
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    near = [[one] for one in range(dist.get_world_size())]
    net = paceline.ddp(torch.nn.Sequential(*layers), plan, near=near, bucket_cap_mb=2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    folder = run / f"worker-{rank}"
    folder.mkdir(parents=True, exist_ok=True)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=WARM_UP - 1, warmup=1, active=steps),
        on_trace_ready=lambda prof: prof.export_chrome_trace(str(folder / "timeline.json")),
    ) as prof:
        for step in range(WARM_UP + steps):
            if step == WARM_UP:
                stamps.begin(folder / "hops.jsonl")
            inputs = torch.randn(64, 512)
            loss = net(inputs).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step == WARM_UP + steps - 1:
                stamps.end()
            prof.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
