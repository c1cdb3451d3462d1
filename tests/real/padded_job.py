"""A worker of tests/real/test_padding.py: trains, and writes down how long each part took.

It knows nothing of the lab. `part-RANK.jsonl` has a line a step, written at once; worker 0 records
some steps with torch.profiler.
"""

import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

FOLDER, STEPS = Path(os.environ["PADDED_FOLDER"]), int(os.environ["PADDED_STEPS"])
RECORDED = range(STEPS - 8, STEPS - 5)  # what comes after the last is not looked at


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    layers = [layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.ReLU(inplace=True))]
    net = nn.Sequential(*layers[:-1])
    ended = [0]
    net[0].weight.register_post_accumulate_grad_hook(
        lambda _: ended.__setitem__(0, time.perf_counter_ns())
    )
    parallel = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    batches = DataLoader(TensorDataset(torch.randn(16 * STEPS, 64)), batch_size=16)
    recorder = profile(activities=[ProfilerActivity.CPU])
    with (FOLDER / f"part-{rank}.jsonl").open("w") as file:
        loading = time.perf_counter_ns()
        for step, (batch,) in enumerate(batches):
            if rank == 0 and step == RECORDED.start:
                recorder.start()
            times = [loading, time.perf_counter_ns()]
            loss = parallel(batch).square().mean()
            times.append(time.perf_counter_ns())
            loss.backward()
            times += [ended[0], time.perf_counter_ns()]
            optimizer.step()
            optimizer.zero_grad()
            times.append(time.perf_counter_ns())
            file.write(json.dumps(times) + "\n")
            file.flush()
            if rank == 0 and step == RECORDED.stop - 1:
                recorder.stop()
                recorder.export_chrome_trace(os.fspath(FOLDER / "trace.json"))
            loading = time.perf_counter_ns()


if __name__ == "__main__":
    main()
