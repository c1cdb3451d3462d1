"""What a plan asks of the communication of training workers, read from its edits.

`collective{algorithm=...}` names the algorithm, `fuse-buckets` and `split-buckets` the size of
buckets, `workers{count=...}` how many there must be. Edits that change the world instead of the
job, such as a faster link, cannot be carried out and are refused.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from paceline.model import Edit, InputError, ModelError, Plan, Route, load, parse_bytes
from paceline.reduce import EXACT

_SIZES = ("fuse-buckets", "split-buckets")


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """None means: as torch does it. `split_bytes` is the largest part that travels as one."""

    algorithm: str | None = None
    bucket_bytes: int | None = None
    split_bytes: int | None = None
    machines: tuple[str, ...] = ()  # by rank


def orders(plan: "Plan | str | Path | None", workers: int) -> Orders:
    """What the plan, the name of an algorithm, or the file of a plan asks of so many workers."""
    if plan is None:
        return Orders()
    if isinstance(plan, str) and plan in EXACT:
        return Orders(algorithm=plan)
    if not isinstance(plan, Plan):
        path = Path(plan)
        if isinstance(plan, str) and not path.suffix and not path.exists():
            raise _unknown(plan)
        plan = load(path, Plan)
    found = Orders(machines=_machines(plan, workers))
    for edit in plan.edits:
        found = _with(found, edit, workers)
    return found


def _with(found: Orders, edit: Edit, workers: int) -> Orders:
    if edit.name == "collective":
        algorithm = str(edit.get("algorithm"))
        if algorithm not in EXACT:
            raise _unknown(algorithm)
        return msgspec.structs.replace(found, algorithm=algorithm)
    if edit.name in _SIZES:
        limit = parse_bytes(edit.get("limit_bytes"))
        if limit <= 0:
            raise InputError("a bucket of 0 bytes holds nothing.", where=edit)
        split = limit if edit.name == "split-buckets" else None
        return msgspec.structs.replace(found, bucket_bytes=limit, split_bytes=split)
    if edit.name == "workers":
        if edit.get("count") != workers:
            raise _count(f"{edit}", workers)
        return found
    raise InputError(
        f"{edit.name} cannot be carried out by the workers of a job.",
        where=edit,
        expected="They follow collective, fuse-buckets, split-buckets and workers.",
        cure="Leave this edit out of the plan; it only answers what-if questions.",
    )


def _machines(plan: Plan, workers: int) -> tuple[str, ...]:
    by_rank = {one.rank: one.machine for one in plan.workers}
    if not by_rank:
        return ()
    if sorted(by_rank) != list(range(workers)):
        raise _count(f"the plan's {len(by_rank)} workers", workers)
    return tuple(by_rank[rank] for rank in range(workers))


def neighborhoods(machines: Sequence[str]) -> list[list[int]]:
    """Workers by machine, in the order in which the machines first come."""
    found: dict[str, list[int]] = {}
    for worker, machine in enumerate(machines):
        found.setdefault(machine, []).append(worker)
    return list(found.values())


def parents(routes: Sequence[Route], machines: Sequence[str]) -> list[int]:
    """Above whom each worker hangs in the tree of a plan's routes, of one bucket and upward."""
    at = {machine: worker for worker, machine in enumerate(machines)}
    above = list(range(len(machines)))
    for route in routes:
        if route.source not in at or route.target not in at:
            unknown = route.target if route.source in at else route.source
            raise ModelError(
                f"no worker is on machine {unknown!r}.",
                expected=f"Workers are on {', '.join(machines)}.",
            )
        above[at[route.source]] = at[route.target]
    return above


def _unknown(name: str) -> InputError:
    near = difflib.get_close_matches(name, EXACT, n=1)
    return InputError(
        f"{name!r} is no algorithm and no plan.",
        where="paceline.ddp",
        expected=f"Algorithms are {', '.join(EXACT)}; a plan is saved in a .json file.",
        cure=f"Did you mean {near[0]!r}?" if near else "",
    )


def _count(what: str, workers: int) -> InputError:
    return InputError(
        f"{what} cannot be carried out by {workers} workers.",
        where="paceline.ddp",
        cure="Start as many workers as the plan has, or plan again for these.",
    )
