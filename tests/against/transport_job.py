"""One worker of the jobs that test_transport.py starts; writes what it found as JSON.

python transport_job.py equal|lost|frozen FOLDER
"""

import copy
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import paceline
from paceline.model import Edit, PacelineError, Plan, save
from paceline.reduce import EXACT, messages, programs

FOLDER = Path(sys.argv[2])


class Net(torch.nn.Module):
    """Odd sizes, a bias of one element, and a layer that some steps do not use."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(13, 37)
        self.second = torch.nn.Linear(37, 1)
        self.unused = torch.nn.Linear(5, 7)
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor, *, use: bool = False) -> torch.Tensor:
        out = self.second(torch.tanh(self.first(x))) * self.scale.sum()
        return out + self.unused(x[:, :5]).sum() if use else out


def inputs(step: int, dtype: torch.dtype) -> torch.Tensor:
    seed = 100 * step + dist.get_rank()
    return torch.randn(8, 13, generator=torch.Generator().manual_seed(seed)).to(dtype)


def gradients(net: DistributedDataParallel, dtype: torch.dtype, how: str) -> list[torch.Tensor]:
    """The gradients after each of three steps; buckets are rebuilt after the first."""
    found = []
    for step in range(3):
        net.zero_grad()
        if how == "accumulated":
            with net.no_sync():
                net(inputs(step + 50, dtype)).square().mean().backward()
        use = how == "unused" and step == 1
        net(inputs(step, dtype), use=use).square().mean().backward()
        own = [p.grad.reshape(-1) for p in net.parameters() if p.grad is not None]
        found.append(torch.cat(own).clone())
    return found


def same_bits(one: torch.Tensor) -> bool:
    raw = one.contiguous().view(torch.uint8)
    every = [torch.empty_like(raw) for _ in range(dist.get_world_size())]
    dist.all_gather(every, raw)
    return all(torch.equal(other, raw) for other in every)


def compared(name: str, plan: object, dtype: torch.dtype, how: str, **given: object) -> dict:
    """How far our gradients are from torch's, and whether all workers have the same bits."""
    torch.manual_seed(3)
    net = Net().to(dtype)
    arguments = {"find_unused_parameters": True} | given.pop("ddp", {})
    plain = DistributedDataParallel(copy.deepcopy(net), **arguments)
    ours = paceline.ddp(net, plan, **given, **arguments)
    before = gradients(plain, dtype, how)
    after = gradients(ours, dtype, how)
    off = max(
        float(((one - two).abs() / (1 + two.abs())).max().double())
        for one, two in zip(after, before, strict=True)
    )
    return {"case": name, "off": off, "same": all(same_bits(one) for one in after)}


def equal() -> list[dict]:
    workers = dist.get_world_size()
    float32 = torch.float32
    half = workers // 2
    nears = {"apart": [[one] for one in range(workers)],
             "halves": [list(range(half)), list(range(half, workers))]}  # fmt: skip
    rows = []
    for name in EXACT:
        for place, near in nears.items():
            rows.append(compared(f"{name} {place}", name, float32, "plain", near=near))
        tiny = {"bucket_cap_mb": 1e-5}
        rows.append(compared(f"{name} tiny", name, float32, "accumulated", ddp=tiny))
        rows.append(compared(f"{name} chunks", name, float32, "unused", chunk_bytes=64))
    chain = [max(one - 1, 0) for one in range(workers)]
    star = [workers - 1] * workers
    trees = {None: chain, 1: star}
    tiny = {"bucket_cap_mb": 1e-4}
    rows.append(compared("trees", None, float32, "plain", trees=trees, ddp=tiny))
    rows += [
        compared(f"ring {dtype}", "ring", dtype, "plain")
        for dtype in (torch.float64, torch.bfloat16, torch.float16)
    ]
    edits = ("collective{algorithm=tree}", "split-buckets{limit_bytes=300}")
    plan = Plan(edits=tuple(Edit.parse(edit) for edit in edits))
    rows.append(compared("plan", plan, float32, "plain"))
    path = FOLDER / f"plan{dist.get_rank()}.json"
    save(plan, path)
    rows.append(compared("plan file", str(path), float32, "plain"))
    rows.append(compared("paced", "ring", float32, "plain", pace="1MB/s"))
    rows.append(compared("view", "ring", float32, "plain", ddp={"gradient_as_bucket_view": True}))
    static = {"static_graph": True, "find_unused_parameters": False}
    rows.append(compared("static", "ring", float32, "plain", ddp=static))
    return rows


def batched() -> list[dict]:
    """The path for other devices, which gloo can go as well: averages by every algorithm."""
    from paceline.run import batched as own

    rows, workers, me = [], dist.get_world_size(), dist.get_rank()
    half = workers // 2
    for name, make in EXACT.items():
        program = programs(make([list(range(half)), list(range(half, workers))]), workers)[me]
        for size, dtype in ((1001, torch.float32), (2, torch.float64), (65, torch.float16)):
            parts = [torch.arange(size).to(dtype) % 7 + rank for rank in range(workers)]
            told = torch.stack(parts).double().mean(dim=0)
            buffer = parts[me].clone()
            own.averaged(buffer, messages(program, size, 100), dist.group.WORLD, range(workers))
            off = float((buffer.double() - told).abs().max())
            rows.append({"case": f"batched {name} {size}", "off": off, "same": same_bits(buffer)})
    return rows


def refused() -> list[dict]:
    """What workers say that do not agree."""
    plan = "ring" if dist.get_rank() else "tree"
    try:
        paceline.ddp(Net(), plan, timeout_s=2)
    except PacelineError as error:
        return [{"case": "another plan", "error": str(error)}]
    return []


def broken(how: str) -> list[dict]:
    """Worker 1 vanishes or stands still in the third step; what the others say, and how soon."""
    net = paceline.ddp(Net(), "ring", timeout_s=3)
    began = time.monotonic()
    try:
        for step in range(5):
            if step == 2 and dist.get_rank() == 1:
                os.kill(os.getpid(), signal.SIGKILL if how == "lost" else signal.SIGSTOP)
            began = time.monotonic()
            net(inputs(step, torch.float32), use=True).sum().backward()
    except PacelineError as error:
        took = time.monotonic() - began
        again = ""
        try:
            net(inputs(9, torch.float32), use=True).sum().backward()
        except Exception as other:  # noqa: BLE001
            again = str(other)
        del net
        alive = [one.name for one in threading.enumerate()]
        return [{"case": how, "error": str(error), "took": took, "again": again, "alive": alive}]
    return []


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    what, rank = sys.argv[1], dist.get_rank()
    rows = equal() + batched() + refused() if what == "equal" else broken(what)
    (FOLDER / f"{what}{rank}.json").write_text(json.dumps(rows))
    if what == "equal" and rank:  # the first one leaves without a word
        dist.barrier()
        dist.destroy_process_group()
    elif what == "equal":
        dist.barrier()
    else:
        sys.stdout.flush()


if __name__ == "__main__":
    main()
