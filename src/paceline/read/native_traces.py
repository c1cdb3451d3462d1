"""Rows and declarations of a native file in, one Trace a worker out.

Events keep their file order within a worker. Tables of texts are cut to what a worker uses, in the
order of first use, so that a trace does not depend on who shares its file.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paceline.model import I64, Group, InputError, Note, Source, Trace, chained
from paceline.read.compact import compact
from paceline.read.native_declared import Declared, Members
from paceline.read.native_rows import NUMBERS, STORED, TEXTS, After, Rows

Column: TypeAlias = npt.NDArray[Any]
_TABLES = {"name": "names", "lane": "lanes", "layer": "layers", "algorithm": "algorithms"}


def traces(rows: Rows, declared: Declared, source: Source) -> tuple[Trace, ...]:
    """One trace for each worker that has events or lines of its own, by rank."""
    columns = {
        name: np.concatenate([np.zeros(0, STORED[name]), *rows.blocks.pop(name)])
        for name in (*NUMBERS, *TEXTS)
    }
    after = After(*(np.concatenate(own) for own in zip(*rows.after, strict=True)))
    found, counts = np.unique(columns["worker"], return_counts=True)
    if len(found) > 1:
        order = np.argsort(columns["worker"], kind="stable")
        for name in columns:  # one at a time, so that only one is held twice
            columns[name] = columns[name][order]
        after = _reordered(after, order)
    everyone = np.union1d(found, np.array(sorted(declared.workers()), np.int64))
    if not everyone.size:
        raise InputError(
            "holds no event.", where=rows.where, cure="Record again, for one whole step at least."
        )
    counted = np.zeros(len(everyone), np.int64)
    counted[np.searchsorted(everyone, found)] = counts
    starts = chained(counted)
    after = _checked(rows, after, everyone, starts)
    parts = _Parts(rows, declared, columns, after)
    return tuple(
        parts.trace(worker, int(starts[at]), int(starts[at + 1]), source)
        for at, worker in enumerate(everyone.tolist())
    )


class _Parts:
    """Columns of all workers, one worker after the other, and what a worker's trace needs."""

    def __init__(
        self, rows: Rows, declared: Declared, columns: dict[str, Column], after: After
    ) -> None:
        self.clock, self.declared, self.columns, self.after = (
            rows.header.clock, declared, columns, after,
        )  # fmt: skip
        self.texts = {name: rows.tables[name].listed() for name in ("group", *_TABLES)}
        self.after_from = chained(after.lengths)
        self.belongs = declared.groups_by_worker()

    def trace(self, worker: int, first: int, last: int, source: Source) -> Trace:
        """The trace of one worker, whose events are the rows from `first` to before `last`."""
        own: dict[str, Any] = {
            name: column[first:last] for name, column in self.columns.items() if name != "worker"
        }
        for name, table in _TABLES.items():
            own[name], own[table] = compact(own[name], self.texts[name])
        own["group"], own["groups"] = self._grouped(worker, own["group"])
        after_from = self.after_from[first : last + 1]
        pairs = slice(int(after_from[0]), int(after_from[-1]))
        return Trace(
            worker=worker,
            clock=self.clock,
            **own,
            after_from=after_from - after_from[0],
            after_worker=self.after.workers[pairs].astype(np.int32),
            after_index=self.after.indices[pairs],
            facts=self.declared.facts_of(worker),
            pings=tuple(self.declared.pings.get(worker, ())),
            norms=self.declared.norms_of(worker),
            notes=self._notes(worker, first == last),
            sources=(source,),
        )

    def _grouped(self, worker: int, column: Column) -> tuple[Column, tuple[Group, ...]]:
        """Declared groups first, as declared; then those that are only used."""
        column, used = compact(column, self.texts["group"])
        members: dict[str, Members] = dict(self.belongs.get(worker, {}))
        for name in used:
            members.setdefault(name, self.declared.groups.get((None, name)))
        places = {name: at for at, name in enumerate(members)}
        moved = np.array([*(places[name] for name in used), -1], np.int32)
        return moved[column], tuple(Group(name=n, members=who) for n, who in members.items())

    def _notes(self, worker: int, empty: bool) -> tuple[Note, ...]:
        notes = tuple(self.declared.notes.get(worker, ()))
        if not empty or any(note.code == "empty" for note in notes):
            return notes
        return (*notes, Note(code="empty", text="The worker has no events.", worker=worker))


def _reordered(after: After, order: I64) -> After:
    """The dependencies in the new order of their events."""
    lengths = after.lengths[order]
    olds, news = chained(after.lengths)[:-1][order], chained(lengths)[:-1]
    taken = np.arange(len(after.indices)) + np.repeat(olds - news, lengths)
    return After(lengths, after.workers[taken], after.indices[taken])


def _checked(rows: Rows, after: After, everyone: I64, starts: I64) -> After:
    """The dependencies; one on an event of a worker of this file that is not there is an error.

    Where the file breaks off, such an event may be lost, and the dependency goes with it.
    """
    at = np.minimum(np.searchsorted(everyone, after.workers), len(everyone) - 1)
    owner = np.repeat(np.arange(len(after.lengths)), after.lengths)
    counts, here = np.diff(starts)[at], everyone[at] == after.workers
    lost = here & (after.indices >= counts)
    if rows.cut and lost.any():
        lengths = after.lengths - np.bincount(owner[lost], minlength=len(after.lengths))
        return After(lengths, after.workers[~lost], after.indices[~lost])
    bad: list[int] = np.flatnonzero(lost | (here & (starts[at] + after.indices == owner))).tolist()
    if not bad:
        return after
    pair = bad[0]
    whose = np.count_nonzero(starts <= owner[pair]) - 1
    raise InputError(
        f"event {owner[pair] - starts[whose]} of worker {everyone[whose]} comes after event "
        f"{after.indices[pair]} of worker {after.workers[pair]}.",
        where=rows.where,
        expected=f"That worker has {counts[pair]} events here, counted from 0, "
        "and no event comes after itself.",
        cure="Correct the after of that event.",
    )
