"""Synthetic profiler timelines for `load.py`: steps of a data-parallel recommendation model.

What stands in a step (operators inside operators, launches, kernels, arrows, collectives, shapes
of inputs) and its proportions follow real timelines; names and times are made up. The styles are
those of three versions: whole microseconds, decimals from a base time, and one key a line.
"""

import random
from collections.abc import Iterator
from pathlib import Path

STYLES = ("torch 1.13", "torch 2.6", "torch 2.13")
BASE_NS = 1_737_936_000_000_000_000
HOST, ENGINE, DEVICE = (4000, 4000), (4000, 4077), (0, 7)
COMM = (0, 84)

OPS = ["aten::linear", "aten::t", "aten::addmm", "aten::relu", "aten::embedding_bag", "aten::cat",
       "aten::empty", "aten::as_strided", "aten::copy_", "aten::mul", "aten::add_", "aten::view",
       "aten::transpose", "aten::index_select", "aten::sum", "aten::bmm"]  # fmt: skip
KERNELS = [
    "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, cublasGemvTensorStridedBatched<float> >",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, char*>(int)",
    "volta_sgemm_128x32_sliced1x4_tn",
    "split_embedding_codegen_forward_unweighted_kernel",
]


class Writer:
    """Writes entries in the layout of a version."""

    def __init__(self, style: str, start_ns: int) -> None:
        self.style, self.now, self.id = style, start_ns, 1
        self.whole = style == "torch 1.13"

    def time(self, ns: int) -> str:
        if self.whole:
            return str((BASE_NS + ns) // 1000)
        return f"{ns // 1000}.{ns % 1000:03d}"

    def length(self, ns: int) -> str:
        return str(ns // 1000) if self.whole else f"{ns // 1000}.{ns % 1000:03d}"

    def span(
        self, cat: str, name: str, at: tuple[int, int], ns: int, length: int, args: str
    ) -> str:
        ts, dur = self.time(ns), self.length(length)
        if self.style == "torch 2.13":
            return (
                f'\n  {{\n    "ph": "X",\n    "cat": "{cat}",\n    "name": "{name}",\n'
                f'    "pid": {at[0]},\n    "tid": {at[1]},\n    "ts": {ts},\n    "dur": {dur}\n'
                f'    ,\n    "args": {{\n      {args}\n    }}\n  }}'
            )
        return (
            f'\n  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {at[0]}, '
            f'"tid": {at[1]},\n    "ts": {ts}, "dur": {dur},\n    "args": {{\n      {args}\n'
            "    }\n  }"
        )

    def arrow(self, ph: str, id: int, at: tuple[int, int], ns: int, name: str) -> str:
        bound = ', "bp": "e"' if ph == "f" else ""
        return (
            f'\n  {{\n    "ph": "{ph}", "id": {id}, "pid": {at[0]}, "tid": {at[1]}, '
            f'"ts": {self.time(ns)},\n    "cat": "{name}", "name": "{name}"{bound}\n  }}'
        )

    def op(self, name: str, at: tuple[int, int], ns: int, length: int, more: str = "") -> str:
        self.id += 1
        record = "" if self.whole else f', "Record function id": 0{more}'
        shapes = f'"Input Dims": [[{self.id % 512}, 64], []], "Input type": ["float", "Scalar"]'
        args = f'"External id": {self.id}{record}, {shapes}, "Ev Idx": {self.id}'
        cat = "user_annotation" if "#" in name or name.startswith("nccl:") else "cpu_op"
        return self.span(cat, name, at, ns, length, args)

    def launch(
        self, kernel: str, at: tuple[int, int], to: tuple[int, int], run_ns: int
    ) -> Iterator[str]:
        """A runtime call, the kernel it launches, and the arrows between."""
        self.id += 1
        id, ns = self.id, self.now
        args = f'"External id": {id}, "cbid": 211, "correlation": {id}'
        yield self.span("cuda_runtime", "cudaLaunchKernel", at, ns, 6_000, args)
        yield self.arrow("s", id, at, ns, "ac2g")
        args = (
            f'"External id": {id},\n      "queued": 0, "device": 0, "context": 1,\n      "stream": '
            f'{to[1]}, "correlation": {id},\n      "registers per thread": 72,\n      "shared '
            'memory": 13824,\n      "blocks per SM": 0.8,\n      "warps per SM": 3.2,\n      '
            '"grid": [32, 2, 1],\n      "block": [128, 1, 1],\n      "est. achieved occupancy %": 5'
        )
        yield self.span("kernel", kernel, to, ns + 9_000, run_ns, args)
        yield self.arrow("f", id, to, ns + 9_000, "ac2g")


def step(writer: Writer, number: int, layers: int, rng: random.Random) -> Iterator[str]:
    """One training step; its annotation comes first, as long as it will turn out to be."""
    start = writer.now
    length = layers * 90_000
    yield writer.op(f"ProfilerStep#{number}", HOST, start, length)
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    yield writer.op(loader, HOST, start + 1_000, 20_000)
    writer.now += 30_000
    for thread in (HOST, ENGINE):
        for layer in range(layers):
            yield from _layer(writer, thread, layer + layers * number, rng)
            if thread is ENGINE and layer % 40 == 39:
                yield from _collective(writer)
    yield writer.op("Optimizer.step#Adagrad.step", HOST, writer.now, 200_000)
    writer.now = max(writer.now + 300_000, start + length + 5_000)


def _layer(
    writer: Writer, thread: tuple[int, int], layer: int, rng: random.Random
) -> Iterator[str]:
    now, name = writer.now, OPS[layer % len(OPS)]
    backward = thread is ENGINE
    if backward:
        more = f', "Fwd thread id": 1, "Sequence number": {layer}'
        yield writer.op(f"autograd::engine::evaluate_function: {name}", thread, now, 40_000, more)
    else:
        yield writer.op(name, thread, now, 40_000, f', "Sequence number": {layer}')
    for inner in range(4):
        at = now + 2_000 + 7_000 * inner
        yield writer.op(OPS[rng.randrange(len(OPS))], thread, at, 6_000)
    writer.now = now + 30_000
    yield from writer.launch(
        KERNELS[layer % len(KERNELS)], thread, DEVICE, rng.randrange(2_000, 20_000)
    )
    writer.id += 1
    args = f'"External id": {writer.id}, "cbid": 134, "correlation": {writer.id}'
    yield writer.span("cuda_runtime", "cudaEventQuery", thread, now + 37_000, 2_000, args)
    writer.now = now + 41_000


def _collective(writer: Writer) -> Iterator[str]:
    now = writer.now
    yield writer.op("c10d::allreduce_", ENGINE, now, 60_000)
    yield writer.op("record_param_comms", ENGINE, now + 2_000, 50_000)
    yield writer.op("nccl:all_reduce", ENGINE, now + 4_000, 40_000)
    writer.now = now + 10_000
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    yield from writer.launch(name, ENGINE, COMM, 400_000)
    writer.now = now + 61_000


def write(path: Path, count: int, style: str, seed: int = 1, rank: int = 0) -> int:
    """A file of at least `count` entries; how many it has."""
    rng = random.Random(seed)
    writer = Writer(style, 4_181_405_243_931_191_000 % 7_000_000_000_000_000)
    written, number = 0, 0
    with path.open("w") as file:
        file.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {\n      "id": 0, ')
        file.write('"name": "Tesla V100", "totalGlobalMem": 34079899648\n    }\n  ],\n')
        info = f'"backend": "nccl", "rank": {rank}, "world_size": 8'
        file.write(f'  "distributedInfo": {{{info}}},\n')
        if style != "torch 1.13":
            file.write(f'  "baseTimeNanoseconds": {BASE_NS},\n')
        file.write('  "traceEvents": [')
        while written < count:
            for entry in step(writer, number, 150, rng):
                file.write(entry if written == 0 else "," + entry)
                written += 1
            number += 1
        file.write('\n  ],\n  "traceName": "made.json"\n}\n')
    return written
