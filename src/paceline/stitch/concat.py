"""Several traces of one worker, on one clock, as one Trace.

Rows follow each other in the order of the parts, so an index of part k moves by the number of
events before it. Text tables are merged; what the parts say of their worker fills in where an
earlier part was silent.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from paceline.model import I64, Facts, Group, Norms, Table, Trace, chained

_PLAIN = (
    "kind", "phase", "step", "start_ns", "duration_ns", "size_bytes", "sequence", "peer",
    "bucket", "chunk", "round", "record",
)  # fmt: skip
_TEXTS = {"name": "names", "lane": "lanes", "layer": "layers", "algorithm": "algorithms"}

Value = TypeVar("Value")


def together(parts: Sequence[Trace]) -> Trace:
    """One trace with the events of all parts; links to other workers keep their index."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {name: _stacked(parts, name) for name in _PLAIN}
    for column, table in _TEXTS.items():
        columns[column], columns[table] = _merged(parts, column, table)
    columns["group"], columns["groups"] = _merged_groups(parts)
    before = np.cumsum([0] + [len(part) for part in parts[:-1]])
    index = [
        np.where(part.after_worker == part.worker, part.after_index + first, part.after_index)
        for part, first in zip(parts, before, strict=True)
    ]
    return Trace(
        worker=parts[0].worker,
        clock=parts[0].clock,
        **columns,
        after_from=chained(np.concatenate([np.diff(part.after_from) for part in parts])),
        after_worker=_stacked(parts, "after_worker"),
        after_index=np.concatenate(index),
        facts=_facts(parts),
        pings=tuple(ping for part in parts for ping in part.pings),
        norms=_norms(parts),
        notes=tuple(note for part in parts for note in part.notes),
        sources=tuple(source for part in parts for source in part.sources),
    )


def told(trace: Trace, silent: Sequence[Trace]) -> Trace:
    """The trace with what parts without events say: they were written to say it, and so outweigh
    it in facts. Clock exchanges count on the trace's own clock only.
    """
    if not silent:
        return trace
    usable = [
        part if part.clock == trace.clock else dataclasses.replace(part, pings=())
        for part in silent
    ]
    return dataclasses.replace(together([trace, *usable]), facts=_facts([*usable, trace]))


def with_links(trace: Trace, owner: I64, target: I64) -> Trace:
    """The trace in which each `owner` event is also after its `target`, an event of this worker."""
    if not len(owner):
        return trace
    owners = np.concatenate([owners_of(trace), owner])
    order = np.argsort(owners, kind="stable")
    own = np.full(len(owner), trace.worker, dtype=np.int32)
    return dataclasses.replace(
        trace,
        after_from=chained(np.bincount(owners, minlength=len(trace))),
        after_worker=np.concatenate([trace.after_worker, own])[order],
        after_index=np.concatenate([trace.after_index, target])[order],
    )


def rows(trace: Trace, chosen: I64) -> Trace:
    """The trace with the chosen events only, without links."""
    columns = {name: getattr(trace, name)[chosen] for name in (*_PLAIN, *_TEXTS, "group")}
    none = np.empty(0, dtype=np.int64)
    return dataclasses.replace(
        trace,
        **columns,
        after_from=np.zeros(len(chosen) + 1, dtype=np.int64),
        after_worker=none.astype(np.int32),
        after_index=none,
    )


def owners_of(trace: Trace) -> I64:
    """The event that each link belongs to."""
    return np.repeat(np.arange(len(trace)), np.diff(trace.after_from))


def _stacked(parts: Sequence[Trace], column: str) -> npt.NDArray[Any]:
    return np.concatenate([getattr(part, column) for part in parts])


def _merged(
    parts: Sequence[Trace], column: str, table: str
) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    texts = Table()
    moved: list[npt.NDArray[Any]] = []
    for part in parts:
        lookup = np.array([*(texts.add(text) for text in getattr(part, table)), -1])
        moved.append(lookup[getattr(part, column)])  # -1 finds the last entry
    return np.concatenate(moved), texts.texts()


def _merged_groups(parts: Sequence[Trace]) -> tuple[npt.NDArray[Any], tuple[Group, ...]]:
    """A group that tells its members and one of that name that does not are the same."""
    groups: list[Group] = []
    known: dict[Group, int] = {}
    open_: dict[str, int] = {}  # by name, a group whose members nobody has told yet
    first: dict[str, int] = {}
    moved: list[npt.NDArray[Any]] = []
    for part in parts:
        lookup: list[int] = []
        for group in part.groups:
            if group.members is None:
                at = first.get(group.name, len(groups))
            else:
                at = known.get(group, open_.pop(group.name, len(groups)))
            if at == len(groups):
                groups.append(group)
                first.setdefault(group.name, at)
                if group.members is None:
                    open_[group.name] = at
            if group.members is not None:
                groups[at] = group
                known[group] = at
            lookup.append(at)
        moved.append(np.array([*lookup, -1])[part.group])
    return np.concatenate(moved), tuple(groups)


def _facts(parts: Sequence[Trace]) -> Facts:
    facts = [part.facts for part in parts]
    return Facts(
        machine=_first(fact.machine for fact in facts),
        device=_first(fact.device for fact in facts),
        device_memory_bytes=_first(fact.device_memory_bytes for fact in facts),
        backend=_first(fact.backend for fact in facts),
        workers=_first(fact.workers for fact in facts),
        peak_bytes=max((f.peak_bytes for f in facts if f.peak_bytes is not None), default=None),
    )


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)


def _norms(parts: Sequence[Trace]) -> Norms:
    fields = [field.name for field in dataclasses.fields(Norms)]
    columns = {name: np.concatenate([getattr(p.norms, name) for p in parts]) for name in fields}
    return Norms(**columns)
