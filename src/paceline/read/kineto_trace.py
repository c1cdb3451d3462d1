"""A Kineto file that was read, as a trace: rows that are events, in file order, as columns.

`record` is PyTorch's record function id where an execution trace was recorded too, and its
external id otherwise; both are ids of host events.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.model import I32, I64, UNKNOWN, InputError, Note, Source, Trace, chained, no_norms
from paceline.read.kineto_after import Edges, edges
from paceline.read.kineto_gloo import gloo_threads, started
from paceline.read.kineto_head import Head
from paceline.read.kineto_lanes import lanes
from paceline.read.kineto_names import Cat, Role
from paceline.read.kineto_queues import launches
from paceline.read.kineto_rows import Rows
from paceline.read.kineto_scopes import contexts
from paceline.read.kineto_spans import NO_EVENT, Said, Spans, said, spans
from paceline.read.kineto_table import Table, table
from paceline.read.kineto_time import LATEST_NS

_UNIX_NS = 10**17  # 1973; times below count from something else


def trace_of(
    rows: Rows, head: Head, source: Source, notes: tuple[Note, ...], *, whole: bool
) -> Trace:
    """The trace of one worker; the file is `whole` if it does not break off."""
    own = _dated(rows, head, source)
    for name, members in head.groups().items():
        rows.talks.know(name, members)
    context = contexts(own, rows.talks, len(rows.keys.threads))
    launch, gloo, busy = (
        launches(own),
        started(own, rows.talks, whole=whole),
        gloo_threads(own, rows.titles),
    )
    are = spans(own, context, launch, gloo, busy)
    talk = said(own, rows.talks, context, launch, kind=are.kind, group=head.only_group())
    are.kind[talk.row] = talk.kind
    event = np.flatnonzero(are.kind != NO_EVENT)
    waits, awaited = _between_events(edges(own, rows, launch, gloo), event, len(own))
    away = (own.role[talk.row] == Role.GLOO) & ~np.isin(own.thread[talk.row], busy)
    lane, titles = lanes(
        own, tuple(rows.keys.threads), rows.titles, (talk.row[away], talk.kind[away])
    )
    lane, lane_names = _used(lane[event], titles)
    layer, layers = _used(are.layer[event], context.layers)
    named = own.name.copy()
    named[talk.row] = len(own.names) + talk.name
    name, names = _used(named[event], (*own.names, *talk.words))
    dated = head.base_ns() is not None or int(own.start.min()) >= _UNIX_NS
    return Trace(
        worker=head.rank(),
        clock="unix" if dated else "own",
        name=name,
        lane=lane,
        layer=layer,
        **_columns(own, are, talk, event),
        after_from=chained(np.bincount(waits, minlength=len(event))),
        after_worker=np.full(len(waits), head.rank(), dtype=np.int32),
        after_index=awaited,
        names=names,
        lanes=lane_names,
        layers=layers,
        groups=rows.talks.groups(),
        algorithms=talk.algorithms,
        facts=head.facts(_device(own, rows), rows.peak_bytes()),
        norms=no_norms(),
        notes=notes,
        sources=(source,),
    )


def _dated(rows: Rows, head: Head, source: Source) -> Table:
    base_ns = head.base_ns() or 0
    if rows.latest_ns + base_ns > LATEST_NS:
        raise InputError(
            "has events after the year 2200.",
            where=source.path,
            expected="baseTimeNanoseconds and ts must add up to a time.",
            cure="Record it again.",
        )
    return table(rows, base_ns)


def _columns(own: Table, are: Spans, talk: Said, event: I64) -> dict[str, Any]:
    """The columns that hold numbers only."""
    duration = own.duration.copy()
    duration[own.unfinished] = UNKNOWN
    size_bytes = np.full(len(own), -1, dtype=np.int64)
    size_bytes[own.device[own.cat[own.device] == Cat.COPY]] = own.size_bytes[
        own.cat[own.device] == Cat.COPY
    ]
    size_bytes[talk.row] = talk.size_bytes
    unknown = np.full(len(event), -1, dtype=np.int32)
    told = {"group": talk.group, "sequence": talk.sequence, "peer": talk.peer}
    columns: dict[str, npt.NDArray[Any]] = {}
    for name, values in {**told, "algorithm": talk.algorithm}.items():
        column = np.full(len(own), -1, dtype=np.int64 if name == "sequence" else np.int32)
        column[talk.row] = values
        columns[name] = column[event]
    return columns | {
        "kind": are.kind[event],
        "phase": are.phase[event],
        "step": are.step[event],
        "start_ns": own.start[event],
        "duration_ns": duration[event],
        "size_bytes": size_bytes[event],
        "record": _records(own)[event],
        "bucket": unknown,
        "chunk": unknown,
        "round": unknown,
    }


def _records(own: Table) -> I64:
    """The id of each operator; a recorder that is not attached gives them all 0."""
    ids = own.record if (own.record > 0).any() else own.external
    record = np.full(len(own), -1, dtype=np.int64)
    record[own.ops] = np.where(ids > 0, ids, -1)
    return record


def _used(positions: npt.NDArray[Any], texts: Sequence[str]) -> tuple[I32, tuple[str, ...]]:
    """The positions in a table of only those texts that are used, and this table."""
    used = np.zeros(len(texts) + 1, dtype=np.bool_)
    used[positions] = True
    used[-1] = False  # -1, where there is no text
    moved = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
    return moved[positions], tuple(texts[at] for at in np.flatnonzero(used).tolist())


def _between_events(found: Edges, event: I64, count: int) -> Edges:
    """The edges between events, each once, by the event that waits."""
    index = np.full(count, -1, dtype=np.int64)
    index[event] = np.arange(len(event))
    waits, awaited = index[found[0]], index[found[1]]
    usable = (waits >= 0) & (awaited >= 0) & (waits != awaited)
    pairs = np.unique(waits[usable] * max(count, 1) + awaited[usable])
    return pairs // max(count, 1), pairs % max(count, 1)


def _device(own: Table, rows: Rows) -> int | None:
    """The number of the device that did most."""
    threads = np.bincount(own.thread[own.device])
    used = tuple(rows.keys.threads)[int(threads.argmax())][0] if len(threads) else None
    return used if isinstance(used, int) else None
