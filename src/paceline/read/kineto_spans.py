"""What each row becomes: its kind, step, phase, layer, and what is said of its communication.

A host row has the context of its place; a device row that of its launch; a span of gloo's the
step and phase of the operator that started it.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I16, I64, U8, Kind, Phase
from paceline.model import Table as Texts
from paceline.read.kineto_names import Cat, Role
from paceline.read.kineto_scopes import Context
from paceline.read.kineto_table import Table
from paceline.read.kineto_talk import Talks

NO_EVENT = 255
_WORDS = {"send": Kind.SEND, "recv": Kind.RECV}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Columns as long as the table; `kind` is NO_EVENT for rows that only told a context."""

    kind: U8
    step: I64
    phase: U8
    layer: I64


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What is said of the rows `row`, which talk; -1 for what is not."""

    row: I64
    kind: U8
    name: I64
    size_bytes: I64
    group: I64
    sequence: I64
    peer: I64
    algorithm: I16
    words: tuple[str, ...]
    algorithms: tuple[str, ...]


def spans(
    table: Table, context: Context, launch: I64, gloo: tuple[I64, I64], busy: tuple[int, ...]
) -> Spans:
    """What the rows become; `busy` are the threads that work for gloo only."""
    step, has_steps = _steps(table)
    phase, layer = context.phase.copy(), context.layer.copy()
    if has_steps:  # before, between and after the steps nobody knows what for
        phase[(step < 0) & (phase == Phase.FORWARD)] = Phase.OTHER
    known = launch >= 0
    device, launched = table.device[known], launch[known]
    phase[table.device], layer[table.device] = Phase.OTHER, -1
    for column in (step, phase, layer):
        column[device] = column[launched]
    started, op = gloo
    own = (table.role == Role.GLOO) & np.isin(table.thread, busy)
    phase[own] = Phase.OTHER
    step[started], phase[started] = step[op], phase[op]
    return Spans(kind=_kinds(table, busy), step=step, phase=phase, layer=layer)


def _steps(table: Table) -> tuple[I64, bool]:
    """The number of the step in whose annotation each row begins, -1 outside."""
    marks = np.flatnonzero((table.role == Role.STEP) & (table.cat < Cat.PYTHON))
    if not len(marks):
        return np.full(len(table), -1, dtype=np.int64), False
    marks = marks[np.argsort(table.start[marks], kind="stable")]
    named: list[int] = table.name[marks].tolist()
    number = {at: int(table.names[at].rpartition("#")[2]) for at in set(named)}
    numbers = np.array([number[at] for at in named], dtype=np.int64)
    at = np.searchsorted(table.start[marks], table.start, side="right") - 1
    inside = (at >= 0) & (table.start < table.end(marks)[at])
    return np.where(inside, numbers[at], -1), True


def _kinds(table: Table, busy: tuple[int, ...]) -> U8:
    """Without any device the operators themselves compute."""
    on_host = len(table.device) == 0
    kind = np.full(len(table), NO_EVENT, dtype=np.uint8)
    kind[table.cat == Cat.OP] = Kind.COMPUTE if on_host else Kind.HOST
    kind[table.calls] = Kind.HOST
    kind[table.cat == Cat.KERNEL] = Kind.COMPUTE
    kind[table.cat == Cat.COPY] = Kind.COPY
    kind[np.isin(table.thread, busy) & (table.cat == Cat.OP)] = NO_EVENT  # inside a collective
    noted = table.cat < Cat.PYTHON
    kind[noted & (table.role == Role.STEP)] = NO_EVENT
    kind[noted & (table.role == Role.LOADER)] = Kind.LOAD
    kind[noted & (table.role == Role.GLOO)] = Kind.COLLECTIVE
    if on_host:
        kind[(table.cat == Cat.MARK) & (table.role == Role.NCCL)] = Kind.COLLECTIVE
    kind[(table.cat == Cat.KERNEL) & (table.role == Role.TALKING)] = Kind.COLLECTIVE
    return kind


def said(
    table: Table, talks: Talks, context: Context, launch: I64, *, kind: U8, group: str | None
) -> Said:
    """What is said of rows that talk, once what stands around them has been added.

    `group` is the only group of the job, if it has only one.
    """
    launch_of = np.full(len(table), -1, dtype=np.int64)
    launch_of[table.device] = launch
    rows = np.array(talks.row, dtype=np.int64)
    place = np.where(table.cat[rows] >= Cat.KERNEL, launch_of[rows], rows)
    around = np.where(place >= 0, context.talk[place], -1)
    for inner, outer in enumerate(around.tolist()):
        if outer not in (-1, inner):
            talks.inherit(inner, outer)
    talks.settle()
    at = np.flatnonzero(kind[rows] == Kind.COLLECTIVE)
    words, algorithms = Texts(), Texts()
    named = [talks.word[i] for i in at.tolist()]
    algorithm = [talks.algorithm[i] for i in at.tolist()]
    groups = np.array(talks.group, dtype=np.int64)[at]
    if group is not None:
        groups[groups < 0] = talks.know(group, None)
    return Said(
        row=rows[at],
        kind=np.array([_WORDS.get(word, Kind.COLLECTIVE) for word in named], dtype=np.uint8),
        name=np.array([words.add(word) for word in named], dtype=np.int64),
        size_bytes=np.array(talks.size_bytes, dtype=np.int64)[at],
        group=groups,
        sequence=np.array(talks.sequence, dtype=np.int64)[at],
        peer=np.array(talks.peer, dtype=np.int64)[at],
        algorithm=np.array(
            [algorithms.add(own) if own else -1 for own in algorithm], dtype=np.int16
        ),
        words=words.texts(),
        algorithms=algorithms.texts(),
    )
