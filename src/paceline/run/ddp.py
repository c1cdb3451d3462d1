"""`paceline.ddp`: DistributedDataParallel whose gradients travel as a plan says.

Without a plan it is torch's own, untouched. With one, buckets have the plan's size, and each is
summed by the plan's algorithm, or along a tree, over connections of our own between the workers.
"""

import itertools
import time
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.nn.parallel import DistributedDataParallel

from paceline.model import InputError, Plan, Route, RunError
from paceline.reduce import EXACT, Near, Program, along, programs
from paceline.run import agreement, pacing, peers, stamps
from paceline.run.carrier import Carrier
from paceline.run.connection import Connection
from paceline.run.orders import Orders, neighborhoods, orders, parents
from paceline.run.transport import Transport

Tree = Sequence[int] | Sequence[Route]

CHUNK_BYTES = 512 * 1024
_MIB = 2**20
# by group; alike on all its workers, which make their models in one order
_models: defaultdict[str, Iterator[int]] = defaultdict(itertools.count)


def ddp(
    model: torch.nn.Module,
    plan: "Plan | str | Path | None" = None,
    *,
    trees: Mapping[int | None, Tree] | None = None,
    near: Near | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    pace: str | int | None = None,
    timeout_s: float | None = None,
    **ddp_arguments: Any,
) -> DistributedDataParallel:
    """The model in DistributedDataParallel whose buckets travel as the plan says.

    `plan` is a Plan, its file, or the name of an algorithm; without it torch's own all-reduce runs.
    `trees` gives a bucket (None: every other) a tree of its own, as parents by worker or as routes.
    `near` are the workers by neighborhood, by machine if not given. `pace` limits what each worker
    sends. All workers must call this with the same arguments.
    """
    group: dist.ProcessGroup | None = ddp_arguments.get("process_group") or dist.group.WORLD
    if group is None:
        raise RunError(
            "torch.distributed is not initialized.",
            where="paceline.ddp",
            cure="Call torch.distributed.init_process_group first.",
        )
    workers = dist.get_world_size(group)
    found = orders(plan, workers)
    if found.bucket_bytes is not None:
        if ddp_arguments.get("bucket_cap_mb") is not None:
            raise InputError(
                "the plan sets the size of buckets, and so does bucket_cap_mb.",
                where="paceline.ddp",
                cure="Give one of the two.",
            )
        ddp_arguments["bucket_cap_mb"] = found.bucket_bytes / _MIB
    wrapped = DistributedDataParallel(model, **ddp_arguments)
    if found.algorithm is None and not trees:
        return wrapped
    carried = transport(
        group, found, trees=trees, near=near, timeout_s=timeout_s, chunk_bytes=chunk_bytes,
        pace=pace,
    )  # fmt: skip
    weakref.finalize(wrapped, carried.carrier.close)  # also when the interpreter ends
    if any(parameter.device.type != "cpu" for parameter in wrapped.parameters()):
        carried.device_group = group
    wrapped.register_comm_hook(None, carried.hook)  # pyright: ignore[reportUnknownMemberType]
    return wrapped


def transport(
    group: dist.ProcessGroup,
    found: Orders,
    *,
    trees: Mapping[int | None, Tree] | None = None,
    near: Near | None = None,
    timeout_s: float | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    pace: str | int | None = None,
) -> Transport:
    """The worker's part of what all workers of the group carry out, once they agree on it."""
    limit_s = _timeout_s(group) if timeout_s is None else timeout_s
    ranks = tuple(dist.get_process_group_ranks(group))
    me = dist.get_rank(group)
    name = f"paceline {group.group_name} {next(_models[group.group_name])}"
    whole = distributed_c10d._get_default_store()  # pyright: ignore[reportPrivateUsage]
    store = distributed_c10d.PrefixStore(f"{name} {group.group_name}", whole)
    deadline = time.monotonic() + limit_s
    machines = found.machines or agreement.machines(store, me, len(ranks), deadline)
    nearby = [list(one) for one in (near or neighborhoods(machines))]
    if sorted(one for some in nearby for one in some) != list(range(len(ranks))):
        raise InputError(
            f"{nearby} are no neighborhoods of {len(ranks)} workers.",
            where="paceline.ddp",
            expected="Each worker, from 0 on, is in one of them.",
        )
    own = _programs(found.algorithm, trees or {}, nearby, machines)
    told = repr((found, nearby, chunk_bytes, own))
    agreement.agreed(store, me, told, ranks, deadline)
    mine = {bucket: each[me] for bucket, each in own.items()}
    talks = {hop.peer for program in mine.values() for hop in program.hops}
    lines = peers.connected(store, me, talks, agreement.seconds_left(deadline))
    carrier = Carrier(
        {peer: Connection(peer, ranks[peer], line) for peer, line in lines.items()},
        piece_bytes=chunk_bytes,
        timeout_s=limit_s,
        pace=pacing.told(pace),
        first_error=agreement.FirstError(store, ranks[me]),
    )
    algorithm = found.algorithm or "tree"
    return Transport(
        carrier,
        mine,
        stamps.Group(name, ranks, ranks[me], algorithm),
        chunk_bytes=chunk_bytes,
        split_bytes=found.split_bytes,
    )


def _programs(
    algorithm: str | None, trees: Mapping[int | None, Tree], near: Near, machines: Sequence[str]
) -> dict[int | None, tuple[Program, ...]]:
    """By bucket (None: every other) the program of each worker."""
    workers = len(machines)
    own: dict[int | None, tuple[Program, ...]] = {}
    for bucket, tree in trees.items():
        if len(tree) and isinstance(tree[0], Route):
            routes = [route for route in tree if isinstance(route, Route)]
            above = parents(routes, machines)
        else:
            above = [one for one in tree if isinstance(one, int)]
        if len(above) != workers:
            raise InputError(
                f"the tree of bucket {bucket} has {len(above)} workers.",
                where="paceline.ddp",
                expected=f"There are {workers}.",
            )
        own[bucket] = programs(along(above), workers)
    if None not in own:
        if algorithm is None:
            raise InputError(
                "some buckets have a tree, and nothing says how the others travel.",
                where="paceline.ddp",
                cure="Give trees a tree for None, or a plan with an algorithm.",
            )
        own[None] = programs(EXACT[algorithm](near), workers)
    return own


def _timeout_s(group: dist.ProcessGroup) -> float:
    """How long the group itself would wait."""
    default = distributed_c10d.default_pg_timeout
    try:
        device = torch.device("cuda" if dist.get_backend(group) == "nccl" else "cpu")
        options = group._get_backend(device).options
        return float(options._timeout.total_seconds())
    except (AttributeError, RuntimeError):  # a backend that keeps it to itself
        return float(default.total_seconds())
