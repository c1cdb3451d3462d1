"""What an execution trace says of collectives: which, in which group, with which sequence.

The backend's own mark (`nccl:all_reduce`) is the collective. The operator `record_param_comms`
around it, and `c10d::allreduce_` around that, know its group, its sequence and what it writes; a
`wait` names the sequence of the collective that it waits for.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from paceline.read.execution_node import COMMS, Operator, Tensor
from paceline.read.kineto_names import collective

_BACKEND = re.compile(r"(nccl|gloo|mpi|ucc|xccl|hccl):", re.ASCII)
_NUMBER = re.compile(r"\(?\s*(\d{1,18})(?![\d.])", re.ASCII)
_IN_PLACE = frozenset({"all_reduce", "broadcast", "reduce"})
_MOST_MEMBERS = 10**6
WAITS = frozenset({"wait", "end_coalescing", "start_coalescing"})


class Comms(NamedTuple):
    """What is known of a collective, or of a wait for one."""

    word: str
    backend: str | None
    group: str | None
    sequence: int
    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]


def comms(own: Operator, outer: Mapping[int, Operator], *, innermost: bool) -> Comms | None:
    """What an operator says of a collective, with what those around it add; None if it is none."""
    mark = _BACKEND.match(own.name)
    if mark is None and not (own.name == COMMS and innermost):
        return None
    around = [own]
    while len(around) < 4 and (parent := outer.get(around[-1].parent)) is not None:
        if parent.name != COMMS and not parent.name.startswith("c10d::"):
            break
        around.append(parent)
    params = next((one for one in around if one.name == COMMS), None)
    word = collective(own.name) if mark else _word(own)
    if not word:
        return None
    reads = tuple(tensor for one in around for tensor in one.reads)
    writes = tuple(tensor for one in around for tensor in one.writes)
    told = params.told if params else own.told
    name = told.get("pg_name")
    return Comms(
        word=word,
        backend=mark[1] if mark else None,
        group=name if isinstance(name, str) and name else None,
        sequence=_sequence(params) if params else -1,
        reads=reads,
        writes=writes + reads if word in _IN_PLACE else writes,
    )


def _word(params: Operator) -> str:
    """The name of the collective among the attributes or inputs, empty if there is none."""
    given = params.told.get("collective_name")
    texts = [given, *params.values] if isinstance(given, str) else list(params.values)
    words = (text for text in texts if isinstance(text, str) and text and not _NUMBER.match(text))
    return next((collective(word) for word in words), "")


def _sequence(params: Operator) -> int:
    """The first number among the inputs; newer versions write it as a text."""
    for value in params.values:
        if isinstance(value, int) and not isinstance(value, bool):
            return value if 0 <= value < 2**62 else -1
        if isinstance(value, str):
            found = _NUMBER.match(value)
            return int(found[1]) if found else -1
    return -1


class _Configured(msgspec.Struct):
    pg_name: str | None = None
    backend_config: str | None = None
    ranks: list[int] | None = None
    group_size: int | None = None


def groups(init: Operator) -> dict[str, tuple[int, ...] | None]:
    """The groups that the job had made, with their members; all ranks where none are listed."""
    found: dict[str, tuple[int, ...] | None] = {}
    for text in init.values:
        for group in _configured(text):
            size = group.group_size or 0
            ranks = group.ranks or (list(range(size)) if 0 < size <= _MOST_MEMBERS else [])
            usable = ranks and len(set(ranks)) == len(ranks) and min(ranks) >= 0
            if group.pg_name and max(ranks, default=0) < _MOST_MEMBERS:
                found[group.pg_name] = tuple(ranks) if usable else None
    return found


def _configured(text: Any) -> list[_Configured]:
    if not isinstance(text, str):
        return []
    try:
        return msgspec.json.decode(text, type=list[_Configured])
    except (msgspec.DecodeError, RecursionError):
        return []
