"""The context of each host row: the spans on its thread that it lies in.

Annotations, modules and the operators that stand for a whole backward step or collective are
scopes. Nested scopes add up: an inner one says what it says, and the rest is as around it. What
the backward of an operator belongs to is told by the forward operator of the same sequence number.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I64, U8, Phase
from paceline.model import Table as Texts
from paceline.read.kineto_join import latest
from paceline.read.kineto_names import Cat, Role, among
from paceline.read.kineto_rows import Mask
from paceline.read.kineto_table import Table
from paceline.read.kineto_talk import Talks

_SILENT = among(Role.STEP, Role.GLOO, Role.FRAMEWORK)
_OF_OPS = among(Role.UPDATE, Role.LOADER, Role.PARAMS, Role.NCCL, Role.C10D, Role.EVALUATE)
_USERS = among(Role.STEP, Role.UPDATE, Role.LOADER, Role.MODULE)
_TALKING = (Role.PARAMS, Role.NCCL, Role.C10D)
_PHASE = {Role.UPDATE: Phase.UPDATE, Role.LOADER: Phase.OTHER, Role.EVALUATE: Phase.BACKWARD}
_ENDLESS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Of each row its phase, layer (position, or -1) and the talk (position, or -1) around it."""

    phase: U8
    layer: I64
    talk: I64
    layers: tuple[str, ...]


class _Scopes:
    """Contexts as they are entered and left, by thread and time."""

    def __init__(self) -> None:
        self.thread: list[int] = []
        self.time: list[int] = []
        self.context: list[int] = []
        self.phase: list[int] = []
        self.layer: list[int] = []
        self.talk: list[int] = []
        self.backward: list[int] = []  # row of the backward step around, -1 if there is none

    def make(self, phase: int, layer: int, talk: int, backward: int) -> int:
        self.phase.append(phase)
        self.layer.append(layer)
        self.talk.append(talk)
        self.backward.append(backward)
        return len(self.phase) - 1

    def enter(self, thread: int, time: int, context: int) -> None:
        self.thread.append(thread)
        self.time.append(time)
        self.context.append(context)


def contexts(table: Table, talks: Talks, threads: int) -> Context:
    """The context of each row; what runs on a device gets that of its launch elsewhere.

    Talks inside talks inherit here.
    """
    layers = Texts()
    scopes = _Scopes()
    for own in _phases(table, threads):
        scopes.make(own, -1, -1, -1)  # the root of a thread has the number of the thread
    _nested(table, talks, scopes, layers)
    thread, time = (np.array(own, dtype=np.int64) for own in (scopes.thread, scopes.time))
    at = latest(thread, time, table.thread.astype(np.int64), table.start)
    context = np.where(at >= 0, np.array([*scopes.context, -1])[at], table.thread)
    phase = np.array(scopes.phase, dtype=np.uint8)[context]
    layer = np.array(scopes.layer, dtype=np.int64)
    backward = np.array(scopes.backward, dtype=np.int64)
    layer = _backward_layers(table, phase, layer[context], layer, backward)
    talk = np.array(scopes.talk, dtype=np.int64)[context]
    return Context(phase=phase, layer=layer[context], talk=talk, layers=layers.texts())


def _phases(table: Table, threads: int) -> list[Phase]:
    """The phase of each thread where nothing else tells: backward on the autograd engine's."""

    def has(rows: Mask) -> Mask:
        return np.bincount(table.thread[rows], minlength=threads) > 0

    engine = has(table.role == Role.EVALUATE)
    users = has(_USERS[table.role])
    forward = (has(table.cat == Cat.OP) & ~engine).any()
    return [
        Phase.BACKWARD if forward and engine[at] and not users[at] else Phase.FORWARD
        for at in range(threads)
    ]


def _nested(table: Table, talks: Talks, scopes: _Scopes, layers: Texts) -> None:
    marks = (table.cat == Cat.MARK) & ~_SILENT[table.role]
    ops = (table.cat == Cat.OP) & _OF_OPS[table.role]
    rows = np.flatnonzero(marks | ops | (table.cat == Cat.PYTHON))
    end = table.end(rows)
    order = np.lexsort((-end, table.start[rows], table.thread[rows]))
    rows = rows[order]
    talk_of = dict(zip(talks.row, range(len(talks)), strict=True))
    stack = [(_ENDLESS, 0)]
    current = -1
    columns = (rows, table.thread[rows], table.start[rows], end[order], table.role[rows])
    for row, thread, start, stop, role in zip(*(c.tolist() for c in columns), strict=True):
        if thread != current:
            _leave(scopes, current, stack, _ENDLESS - 1)
            current, stack = thread, [(_ENDLESS, thread)]
        _leave(scopes, current, stack, start)
        around = stack[-1][1]
        phase, layer = scopes.phase[around], scopes.layer[around]
        talk, backward = scopes.talk[around], scopes.backward[around]
        if role in _PHASE:
            phase = _PHASE[role]
            if role == Role.EVALUATE:
                backward, layer = row, -1
        elif role in _TALKING:
            inner = talk_of[row]
            if talk >= 0:
                talks.inherit(inner, talk)
            talk = inner
        else:
            layer = layers.add(table.names[table.name[row]].removeprefix("nn.Module: "))
        context = scopes.make(phase, layer, talk, backward)
        scopes.enter(thread, start, context)
        stack.append((min(stop, stack[-1][0]), context))
    _leave(scopes, current, stack, _ENDLESS - 1)


def _leave(scopes: _Scopes, thread: int, stack: list[tuple[int, int]], time: int) -> None:
    """Leaves all scopes that end by `time`."""
    while stack[-1][0] <= time:
        ended = stack.pop()[0]
        scopes.enter(thread, ended, stack[-1][1])


def _backward_layers(table: Table, phase: U8, of_row: I64, layer: I64, backward: I64) -> I64:
    """The layers of all contexts, those of backward steps from their forward operators."""
    known = (table.sequence >= 0) & (phase[table.ops] != Phase.BACKWARD) & (of_row[table.ops] >= 0)
    forward = table.ops[known]
    steps = np.flatnonzero(backward >= 0)
    sequence = np.full(len(table), -1, dtype=np.int64)
    sequence[table.ops] = table.sequence
    wanted = sequence[backward[steps]]
    steps, wanted = steps[wanted >= 0], wanted[wanted >= 0]
    at = latest(table.sequence[known], table.start[forward], wanted, table.start[backward[steps]])
    found = (at >= 0) & (layer[steps] < 0)
    layer[steps[found]] = of_row[forward[at[found]]]
    return layer
