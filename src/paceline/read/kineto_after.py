"""What waited for what: launches, synchronizations, waits between streams, backward for forward.

Edges are pairs of rows (the one that waits, the one it waits for). What the times of a trace
contradict, such as a wait that ends before what it waited for, is left out.
"""

from dataclasses import dataclass

import numpy as np

from paceline.model import I64
from paceline.read.kineto_join import latest, matching
from paceline.read.kineto_keys import Thread
from paceline.read.kineto_names import Cat, Role, among
from paceline.read.kineto_queues import Queues
from paceline.read.kineto_rows import Rows, Sync
from paceline.read.kineto_table import Table

ROUNDED_NS = 2_000  # times in whole microseconds, on two clocks

_SYNCS = among(Role.DEVICE_SYNC, Role.STREAM_SYNC, Role.EVENT_SYNC)

Edges = tuple[I64, I64]


@dataclass(frozen=True, slots=True)
class Device:
    """What the edges of a device are made from.

    `launch` goes with `table.device`; `asked` and `recorded` with `syncs`: the calls that made a
    synchronization and that recorded its event (positions in `table.calls`, or -1).
    """

    table: Table
    launch: I64
    queues: Queues
    threads: dict[Thread, int]
    places: tuple[Thread, ...]
    syncs: list[Sync]
    asked: I64
    recorded: I64


def edges(table: Table, rows: Rows, launch: I64, started: Edges) -> Edges:
    """All edges; `started` are those between operators and what they hand to other threads."""
    parts = [started, _forward(table, rows)]
    if len(table.device):
        ids = np.array([(one.correlation, one.recorded) for one in rows.syncs], dtype=np.int64)
        asked, recorded = (matching(table.called, side) for side in ids.reshape(-1, 2).T)
        queues = Queues(table, launch)
        threads, places = rows.keys.threads, tuple(rows.keys.threads)
        device = Device(table, launch, queues, threads, places, rows.syncs, asked, recorded)
        parts += [_launched(device), _waited(device), _between_streams(device)]
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
    )


def _launched(device: Device) -> Edges:
    """Device rows after their launches; but a copy that blocks its caller ends before the call."""
    table, launch = device.table, device.launch
    known = launch >= 0
    blocking = known & (table.role[launch] == Role.BLOCKING) & device.queues.in_order
    blocking &= table.end(table.device) <= table.end(launch) + ROUNDED_NS
    plain = known & ~blocking
    calls, copies = launch[blocking], table.device[blocking]
    before = _call_before(table, calls)
    return (
        np.concatenate([table.device[plain], calls, copies[before >= 0]]),
        np.concatenate([launch[plain], copies, before[before >= 0]]),
    )


def _call_before(table: Table, calls: I64) -> I64:
    """The call on the same thread that ended before each of the given ones began, or -1."""
    threads = table.thread.astype(np.int64)
    at = latest(
        threads[table.calls], table.start[table.calls], threads[calls], table.start[calls] - 1
    )
    before = table.calls[at] if len(table.calls) else at
    return np.where((at >= 0) & (table.end(before) <= table.start[calls]), before, -1)


def _waited(device: Device) -> Edges:
    """Calls that wait for a device, a stream or an event, after the last thing they waited for."""
    table, queues = device.table, device.queues
    told = {sync.correlation: at for at, sync in enumerate(device.syncs) if sync.correlation >= 0}
    waiting = _SYNCS[table.role[table.calls]]
    calls = table.calls[waiting]
    recent = _last_launched(device, calls)
    found: list[tuple[int, int]] = []
    columns = (calls, table.called[waiting], table.role[calls], recent, table.start[calls])
    for call, id, role, latest_stream, start in zip(*(c.tolist() for c in columns), strict=True):
        sync = told.get(id, -1)
        stream, since = latest_stream, start
        if role == Role.EVENT_SYNC:
            stream, since = _event(device, sync) if sync >= 0 else (-1, 0)
        elif role == Role.STREAM_SYNC and sync >= 0:
            stream = device.syncs[sync].thread
        whole = role == Role.DEVICE_SYNC and stream >= 0
        streams = _same_device(device, stream) if whole else (stream,)
        found += [(call, queues.last(one, since)) for one in streams]
    return _possible(table, found, at_start=False)


def _last_launched(device: Device, calls: I64) -> I64:
    """The stream onto which the thread of each call launched something last before it, or -1."""
    table = device.table
    known = device.launch >= 0
    launch = device.launch[known]
    threads = table.thread.astype(np.int64)
    at = latest(threads[launch], table.start[launch], threads[calls], table.start[calls])
    streams = threads[table.device[known]]
    return np.where(at >= 0, streams[at], -1) if len(streams) else at


def _same_device(device: Device, stream: int) -> tuple[int, ...]:
    own, places = device.places[stream][0], device.places
    return tuple(other for other in device.queues.streams if places[other][0] == own)


def _event(device: Device, sync: int) -> tuple[int, int]:
    """The stream of the event of a synchronization, and when it was recorded; -1 if not told."""
    one, recorded = device.syncs[sync], int(device.recorded[sync])
    stream = device.threads.get((device.places[one.thread][0], one.waited), -1)
    if recorded < 0 or stream < 0:
        return -1, 0
    return stream, int(device.table.start[device.table.calls[recorded]])


def _between_streams(device: Device) -> Edges:
    """The next thing on a stream that waits for an event, after the last thing recorded by it."""
    table, queues = device.table, device.queues
    found: list[tuple[int, int]] = []
    for at, sync in enumerate(device.syncs):
        if sync.name != "Stream Wait Event":
            continue
        stream, recorded = _event(device, at)
        call = int(device.asked[at])
        asked = int(table.start[table.calls[call]]) if call >= 0 else sync.start_ns
        if stream >= 0 and recorded <= asked:
            found.append((queues.first(sync.thread, asked), queues.last(stream, recorded)))
    return _possible(table, found, at_start=True)


def _possible(table: Table, found: list[tuple[int, int]], *, at_start: bool) -> Edges:
    """Edges between rows that exist, if what waits did not begin (or end) too early for them."""
    pairs = np.array([pair for pair in found if min(pair) >= 0], dtype=np.int64).reshape(-1, 2)
    waits, awaited = pairs[:, 0], pairs[:, 1]
    reached = table.start[waits] if at_start else table.end(waits)
    possible = table.end(awaited) <= reached + ROUNDED_NS
    return waits[possible], awaited[possible]


def _forward(table: Table, rows: Rows) -> Edges:
    """Backward operators after the forward operators that made them: by arrows, else by number."""
    if not rows.flows:
        return _forward_by_number(table)
    ends = {flow.id: flow for flow in rows.flows if not flow.forward}
    pairs = [(flow, ends[flow.id]) for flow in rows.flows if flow.forward and flow.id in ends]
    ops = np.flatnonzero(table.cat == Cat.OP)
    found: list[I64] = []
    for side in (1, 0):
        threads = np.array([pair[side].thread for pair in pairs], dtype=np.int64)
        times = np.array([pair[side].start_ns for pair in pairs], dtype=np.int64)
        at = latest(table.thread[ops].astype(np.int64), table.start[ops], threads, times)
        found.append(np.where(at >= 0, ops[at], -1) if len(ops) else at)
    backward, forward = found
    known = (backward >= 0) & (forward >= 0)
    known[known] &= table.end(forward[known]) <= table.start[backward[known]]
    return backward[known], forward[known]


def _forward_by_number(table: Table) -> Edges:
    """Files before the arrows: both sides have the sequence number of the forward operator."""
    numbered = table.sequence >= 0
    ops, number = table.ops[numbered], table.sequence[numbered]
    engine = table.role[ops] == Role.EVALUATE
    backward, forward = ops[engine], ops[~engine]
    at = latest(number[~engine], table.end(forward), number[engine], table.start[backward])
    known = at >= 0
    return backward[known], forward[at[known]]
