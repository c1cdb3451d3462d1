"""What PyTorch's words mean: categories, names of annotations, of runtime calls, of kernels.

Each text is looked at once, however often it comes; what it means is a small number from then on
(a plain one: members of an enum cost a look-up each time).
"""

import re

import numpy as np
import numpy.typing as npt


class Cat:
    """What an entry of the array is, by its phase letter and category."""

    SKIPPED = 0  # known, and of no use here
    FOREIGN = 1  # a span of a category that nobody knows here: counted in a note
    META = 2
    MEMORY = 3
    FLOW_FROM = 4
    FLOW_TO = 5
    OP = 6  # from here on: spans that become rows
    MARK = 7  # an annotation
    PYTHON = 8
    RUNTIME = 9
    KERNEL = 10
    COPY = 11
    SYNC = 12


_SPANS = {
    "cpu_op": Cat.OP, "operator": Cat.OP, "user_annotation": Cat.MARK,
    "python_function": Cat.PYTHON, "runtime": Cat.RUNTIME, "kernel": Cat.KERNEL,
    "gpu_memcpy": Cat.COPY, "memcpy": Cat.COPY, "gpu_memset": Cat.COPY, "memset": Cat.COPY,
    "cuda_sync": Cat.SYNC, "trace": Cat.SKIPPED, "overhead": Cat.SKIPPED,
    "gpu_user_annotation": Cat.SKIPPED, "external_correlation": Cat.SKIPPED,
    "cuda_event": Cat.SKIPPED, "cuda_profiler_range": Cat.SKIPPED,
}  # fmt: skip
_FLOWS = {"fwdbwd", "fwd_bwd", "forward_backward"}


def category(letter: str, text: str) -> int:
    """What an entry with this `ph` and `cat` is."""
    lower = text.lower()
    if letter == "X":
        if lower.endswith(("_runtime", "_driver")):  # cuda, hip, xpu, mtia, privateuse1
            return Cat.RUNTIME
        return _SPANS.get(lower, Cat.FOREIGN)
    if letter in ("s", "f") and lower in _FLOWS:
        return Cat.FLOW_FROM if letter == "s" else Cat.FLOW_TO
    if letter == "M":
        return Cat.META
    return Cat.MEMORY if lower == "cpu_instant_event" else Cat.SKIPPED


class Role:
    """What a name says beyond itself."""

    PLAIN = 0
    STEP = 1
    UPDATE = 2
    LOADER = 3
    NCCL = 4
    GLOO = 5
    PARAMS = 6  # record_param_comms, which carries the keys of a collective
    C10D = 7
    EVALUATE = 8  # the backward of one op
    MODULE = 9
    FRAMEWORK = 10  # an annotation that PyTorch itself makes, so no layer of the user's
    TALKING = 11  # a kernel that communicates
    DEVICE_SYNC = 12
    STREAM_SYNC = 13
    EVENT_SYNC = 14
    BLOCKING = 15  # a copy that returns when it is done


_ROLES: tuple[tuple[int, re.Pattern[str]], ...] = (
    (Role.STEP, re.compile(r"ProfilerStep#\d{1,18}$", re.ASCII)),
    (Role.UPDATE, re.compile(r"Optimizer\.(?:step|zero_grad)#")),
    (Role.LOADER, re.compile(r"enumerate\(DataLoader\)#|enumerate\(DataPipe\)#")),
    (Role.NCCL, re.compile(r"nccl:")),
    (Role.GLOO, re.compile(r"gloo:")),
    (Role.PARAMS, re.compile(r"record_param_comms$")),
    (Role.C10D, re.compile(r"c10d::")),
    (Role.EVALUATE, re.compile(r"autograd::engine::evaluate_function")),
    (Role.MODULE, re.compile(r"nn\.Module: ")),
    (Role.FRAMEWORK, re.compile(r"(?:Distributed|FullySharded)DataParallel\.forward|PyTorch ")),
    (Role.TALKING, re.compile(r"(?:void )?(?:nccl|rccl|msccl)\w*Kernel")),
    (Role.DEVICE_SYNC, re.compile(r"(?:cuda|hip|cu)(?:Device|Ctx)Synchronize")),
    (Role.STREAM_SYNC, re.compile(r"(?:cuda|hip|cu)StreamSynchronize")),
    (Role.EVENT_SYNC, re.compile(r"(?:cuda|hip|cu)EventSynchronize")),
    (Role.BLOCKING, re.compile(r"(?:cuda|hip|cu)Memcpy(?!\w*Async)")),
)  # fmt: skip


def role(name: str) -> int:
    """What the name of an entry says beyond itself."""
    return next((role for role, pattern in _ROLES if pattern.match(name)), Role.PLAIN)


def among(*codes: int) -> npt.NDArray[np.bool_]:
    """A table to be asked with columns of codes: which of them are among the given ones."""
    found = np.zeros(256, dtype=np.bool_)
    found[list(codes)] = True
    return found


_COLLECTIVES = {
    "allreduce": "all_reduce", "allgather": "all_gather", "allgatherbase": "all_gather",
    "allgatherintotensor": "all_gather", "reducescatter": "reduce_scatter",
    "reducescatterbase": "reduce_scatter", "reducescattertensor": "reduce_scatter",
    "alltoall": "all_to_all", "alltoallbase": "all_to_all", "alltoallv": "all_to_all",
    "alltoallpivot": "all_to_all", "broadcastoop": "broadcast", "reduceoop": "reduce",
    "recvanysource": "recv", "sendrecv": "send_recv", "monitoredbarrier": "barrier",
    "allreducebarrier": "barrier", "allgatherv": "all_gather", "reducescatterv": "reduce_scatter",
}  # fmt: skip
_ARROW = re.compile(r"\s+\d+\s*(?:->|<-)\s*\d+$")  # "nccl:send 0->1"
_KERNEL = re.compile(r"AllReduce|AllGather|ReduceScatter|AllToAll|Broadcast|SendRecv|Reduce")
_ALGORITHM = re.compile(
    r"(?<![A-Za-z])(RING|TREE|COLLNET(?:_[A-Z]+)?|NVLS(?:_TREE)?|PAT)(?![A-Za-z])|(Ring|Tree)LL"
)


def collective(name: str) -> str:
    """One word for what NCCL, gloo and c10d spell differently: `all_reduce`, `send`, ..."""
    bare = _ARROW.sub("", name.rpartition(":")[2]).strip("_").lower()
    key = bare.replace("_", "").removesuffix("coalesced").removesuffix("single")
    return _COLLECTIVES.get(key, bare)


def of_kernel(name: str) -> str:
    """What a communicating kernel does, as far as its name tells."""
    found = _KERNEL.search(name)
    return collective(found[0]) if found else "collective"


def algorithm(name: str) -> str | None:
    """`ring`, `tree` and so on, if the name of the kernel tells."""
    found = _ALGORITHM.search(name)
    return (found[1] or found[2]).lower() if found else None


_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "int": 4, "long": 8, "longint": 8,
    "short": 2, "shortint": 2, "char": 1, "signedchar": 1, "byte": 1, "unsignedchar": 1,
    "bool": 1, "complexhalf": 4, "complexfloat": 8, "complexdouble": 16, "uint16": 2, "uint32": 4,
    "uint64": 8, "unsignedshort": 2, "unsignedint": 4, "unsignedlong": 8, "complex<half>": 4,
    "complex<float>": 8, "complex<double>": 16,
}  # fmt: skip


def bytes_of(dtype: str) -> int | None:
    """The size of one element: `Float` and `float`, `BFloat16` and `c10::BFloat16`."""
    word = dtype.lower().replace("c10::", "").replace(" ", "").replace("_", "")
    return 1 if word.startswith("float8") else _BYTES.get(word)
