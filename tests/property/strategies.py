"""Valid nouns for hypothesis: every strategy here yields what `verify` lets pass.

Records are built from the types of their fields, so that a new field is tried out without a word
here; what the rules of a noun ask for is arranged beside it. Say `from strategies import graphs`.
"""

import enum
import types
import typing
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar

import msgspec
import numpy as np
from hypothesis import strategies as st

from paceline.model import (
    DECILES,
    UNKNOWN,
    Bill,
    Bucket,
    Cluster,
    Edit,
    Facts,
    Goal,
    Graph,
    Group,
    History,
    Job,
    Kind,
    Lease,
    Link,
    Machine,
    MachineKind,
    Noise,
    Norms,
    Note,
    Offer,
    Phase,
    Ping,
    Plan,
    Profile,
    ProfiledWorker,
    Report,
    Source,
    Spreads,
    Target,
    Timeline,
    Times,
    Trace,
    TraceBuilder,
    Work,
    Worker,
    chained,
)
from paceline.model.file import NOUNS as SAVED

Record = TypeVar("Record")

BIG = 2**62
texts = st.text(max_size=8)
names = st.text('abcxyz019-_./:äλ架 {}",=\\\x1b', min_size=1, max_size=8)
figures = st.floats(allow_nan=False, allow_infinity=False)
positives = st.floats(1e-9, 1e12)
wholes = st.integers(-BIG, BIG)
counts = st.integers(0, 2**31 - 1)
times_ns = st.integers(-(2**60), 2**60)
norms = figures | st.just(float("nan"))

_KEYS = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
_VALUES = st.booleans() | st.integers(1 - 2**63, 2**63 - 1) | figures | st.text(max_size=8)


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    """Any edit that can be printed."""
    name = draw(st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True))
    return Edit(name, tuple(draw(st.dictionaries(_KEYS, _VALUES, max_size=4)).items()))


def records(cls: type[Record], **arranged: st.SearchStrategy[Any]) -> st.SearchStrategy[Record]:
    """Records of a class, every field drawn by its type unless it is arranged."""
    return st.builds(cls, **(_fields(cls) | arranged))


@lru_cache
def _fields(cls: type) -> dict[str, st.SearchStrategy[Any]]:
    hints = typing.get_type_hints(cls)
    return {field: of_type(hints[field]) for field in cls.__struct_fields__}  # type: ignore[attr-defined]


_SIMPLE: dict[object, st.SearchStrategy[Any]] = {
    int: wholes, float: figures, str: texts, bool: st.booleans(), Edit: edits(),
    type(None): st.none(),
}  # fmt: skip


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type annotation as records have them."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return st.one_of([of_type(part) for part in inside])
    if origin is tuple and inside[-1] is Ellipsis:
        return st.lists(of_type(inside[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of_type, inside))
    if origin is dict:
        return st.dictionaries(of_type(inside[0]), of_type(inside[1]), max_size=3)
    if issubclass(hint, enum.Enum):
        return st.sampled_from(hint)
    assert issubclass(hint, msgspec.Struct), f"no strategy for {hint}"
    return records(hint)


def lists_by(
    items: st.SearchStrategy[Record], key: Callable[[Record], object], most: int = 4
) -> st.SearchStrategy[tuple[Record, ...]]:
    """Up to `most` items, no two with the same key."""
    return st.lists(items, max_size=most, unique_by=key).map(tuple)


def column(draw: st.DrawFn, count: int, values: st.SearchStrategy[Any]) -> list[Any]:
    """As many values as a column has rows."""
    return draw(st.lists(values, min_size=count, max_size=count))


@st.composite
def traces(draw: st.DrawFn, most: int = 8) -> Trace:
    """Any valid trace of up to `most` events."""
    builder = TraceBuilder()
    worker = draw(st.integers(0, 5))
    clock = draw(st.none() | texts)
    groups = [builder.group(n) for n in draw(st.lists(names, max_size=2, unique=True))]
    count = draw(st.integers(0, most))
    columns = st.integers(-1, 2**31 - 1)
    for index in range(count):
        start = UNKNOWN if clock is None else draw(st.just(UNKNOWN) | times_ns)
        never_ended = start == UNKNOWN or draw(st.booleans())
        others = [i for i in range(count) if i != index]
        own = st.tuples(st.just(worker), st.sampled_from(others)) if others else st.nothing()
        theirs = st.tuples(st.integers(worker + 1, 9), st.integers(0, 99))
        builder.add(
            draw(names),
            draw(st.sampled_from(Kind)),
            draw(names),
            start,
            UNKNOWN if never_ended else draw(st.integers(0, 2**60)),
            phase=draw(st.sampled_from(Phase)),
            step=draw(st.integers(-1, BIG)),
            layer=draw(st.none() | names),
            size_bytes=draw(st.integers(-1, BIG)),
            group=draw(st.sampled_from([-1, *groups])),
            sequence=draw(st.integers(-1, BIG)),
            peer=draw(columns),
            bucket=draw(columns),
            chunk=draw(columns),
            round=draw(columns),
            algorithm=draw(st.none() | names),
            record=draw(st.integers(-1, BIG)),
            after=draw(st.lists(own | theirs, max_size=2)),
        )
    steps = draw(st.integers(0, 3))
    return builder.trace(
        worker,
        clock=clock,
        facts=draw(records(Facts)),
        pings=draw(of_type(tuple[Ping, ...])),
        norms=Norms(
            step=column(draw, steps, wholes),
            loss=column(draw, steps, norms),
            local=column(draw, steps, norms),
            average=column(draw, steps, norms),
        ),
        notes=draw(of_type(tuple[Note, ...])),
        sources=draw(of_type(tuple[Source, ...])),
    )


@st.composite
def graphs(draw: st.DrawFn, most: int = 6, workers: int = 3) -> Graph:
    """Any valid graph of up to `most` happenings on up to `workers` workers.

    A happening is one op, a collective of some workers, or a message; everything waits only for
    earlier happenings, so nothing can wait for itself.
    """
    ranks = draw(st.lists(st.integers(0, 99), min_size=1, max_size=workers, unique=True))
    ops: list[tuple[int, Kind, int]] = []  # worker, kind, match
    after: list[list[int]] = []
    matches = 0
    for _ in range(draw(st.integers(0, most))):
        earlier = len(ops)
        what = draw(st.sampled_from(["op", "collective", "message"]))
        if what == "op":
            ops.append((draw(st.sampled_from(ranks)), draw(st.sampled_from(Kind)), -1))
        elif what == "collective":
            members = draw(st.lists(st.sampled_from(ranks), min_size=1, unique=True))
            ops += [(rank, Kind.COLLECTIVE, matches) for rank in members]
        else:
            ends = st.tuples(st.sampled_from(ranks), st.sampled_from(ranks))
            source, target = draw(ends)
            ops += [(source, Kind.SEND, matches), (target, Kind.RECV, matches)]
        matches += what != "op"
        waits = st.lists(st.integers(0, earlier - 1), max_size=2, unique=True)
        after += [draw(waits) if earlier else [] for _ in ops[earlier:]]
    return _graph(draw, ranks, ops, after, matches)


def _graph(
    draw: st.DrawFn,
    ranks: list[int],
    ops: list[tuple[int, Kind, int]],
    after: list[list[int]],
    matches: int,
) -> Graph:
    count = len(ops)
    works = draw(st.lists(records(Work), min_size=1, max_size=3))
    lanes = draw(st.lists(names, min_size=1, max_size=2))
    layers = draw(st.lists(names, max_size=2))
    buckets = draw(st.lists(records(Bucket), max_size=2))
    groups = draw(st.lists(records(Group), max_size=2))

    def position(table: list[Any], rows: int = count, lowest: int = -1) -> list[int]:
        return column(draw, rows, st.integers(lowest, len(table) - 1))

    return Graph(
        kind=np.array([int(kind) for _, kind, _ in ops], np.uint8),
        phase=np.array(column(draw, count, st.sampled_from(Phase)), np.uint8),
        worker=np.array([worker for worker, _, _ in ops], np.int32),
        lane=np.array(position(lanes, lowest=0), np.int32),
        work=np.array(position(works, lowest=0), np.int32),
        layer=np.array(position(layers), np.int32),
        bucket=np.array(position(buckets), np.int32),
        size_bytes=np.array(column(draw, count, st.integers(-1, BIG)), np.int64),
        match=np.array([match for _, _, match in ops], np.int32),
        after_from=chained([len(waits) for waits in after]),
        after_op=np.array([op for waits in after for op in waits], np.int32),
        match_group=np.array(position(groups, matches), np.int32),
        workers=tuple(ranks),
        works=tuple(works),
        lanes=tuple(lanes),
        layers=tuple(layers),
        buckets=tuple(buckets),
        groups=tuple(groups),
    )


@st.composite
def timelines(draw: st.DrawFn, count: int | None = None) -> Timeline:
    """Any valid timeline, of `count` ops if given."""
    rows = draw(st.integers(0, 6)) if count is None else count
    spans = column(draw, rows, st.none() | st.tuples(times_ns, st.integers(0, 2**60)))
    return Timeline(
        start_ns=np.array([UNKNOWN if span is None else span[0] for span in spans], np.int64),
        end_ns=np.array([UNKNOWN if span is None else sum(span) for span in spans], np.int64),
        step=draw(st.none() | wholes),
        measured=draw(st.booleans()),
    )


@st.composite
def times(draw: st.DrawFn, count: int | None = None) -> Times:
    """Any times, of `count` ops if given."""
    rows = draw(st.integers(0, 6)) if count is None else count
    return Times(
        duration_ns=np.array(column(draw, rows, st.integers(-1, 2**40)), np.int64),
        lead_ns=np.array(column(draw, rows, st.integers(0, 2**40)), np.int64),
    )


@st.composite
def spreads(draw: st.DrawFn, works: int = 3, kinds: int = 2) -> Spreads:
    """Any valid spreads over tables of so many works and kinds."""
    rows = draw(st.integers(0, 3)) if works and kinds else 0
    deciles = [sorted(column(draw, DECILES, figures)) for _ in range(rows)]
    return Spreads(
        work=np.array(column(draw, rows, st.integers(0, max(works - 1, 0))), np.int32),
        kind=np.array(column(draw, rows, st.integers(0, max(kinds - 1, 0))), np.int32),
        count=np.array(column(draw, rows, st.integers(1, BIG)), np.int64),
        mean_ns=np.array(column(draw, rows, figures), np.float64),
        deciles_ns=np.array([value for row in deciles for value in row], np.float64),
    )


@st.composite
def noises(draw: st.DrawFn) -> Noise:
    """Any gradient norms."""
    rows = draw(st.integers(0, 3))
    return Noise(
        worker=np.array(column(draw, rows, counts), np.int32),
        step=np.array(column(draw, rows, wholes), np.int64),
        loss=np.array(column(draw, rows, norms), np.float64),
        local=np.array(column(draw, rows, norms), np.float64),
        average=np.array(column(draw, rows, norms), np.float64),
    )


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Any valid profile."""
    graph = draw(graphs())
    kinds = draw(st.lists(names, min_size=1, max_size=2))
    extra = draw(st.lists(st.integers(100, 200), max_size=2, unique=True))
    table = spreads(len(graph.works), len(kinds))
    kind = st.integers(0, len(kinds) - 1)
    hints = typing.get_type_hints(Profile)
    drawn = ("alignment", "residual_ns", "matching", "notes", "sources")
    return Profile(
        job=draw(jobs()),
        workers=tuple(
            draw(records(ProfiledWorker, rank=st.just(rank), kind=kind))
            for rank in (*graph.workers, *extra)
        ),
        missing_workers=tuple(draw(st.lists(st.integers(201, 300), max_size=2))),
        kinds=tuple(kinds),
        graph=graph,
        durations=draw(table),
        leads=draw(table),
        measured=tuple(draw(st.lists(timelines(len(graph)), max_size=2))),
        noise=draw(noises()),
        events=draw(counts),
        **{name: draw(of_type(hints[name])) for name in drawn},
    )


def jobs() -> st.SearchStrategy[Job]:
    """Any job."""
    return records(Job)


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    """Any goal that can be meant: one target, a least and a most in order."""
    target = st.sampled_from(("steps", "samples", "gap"))
    named = target.flatmap(
        lambda key: st.builds(Target, **{key: positives if key == "gap" else st.integers(1, 2**40)})
    )
    least, most = sorted(draw(st.tuples(st.integers(1, 999), st.integers(1, 999))))
    return draw(
        records(
            Goal,
            target=st.none() | named,
            deadline_s=st.none() | positives,
            budget_usd=st.none() | st.floats(0, 1e9),
            min_workers=st.sampled_from([None, least]),
            max_workers=st.sampled_from([None, most]),
        )
    )


def histories() -> st.SearchStrategy[History]:
    """Any availability history."""
    available = st.lists(counts, min_size=1, max_size=8).map(tuple)
    return records(History, gap_s=st.floats(0.001, 86400), available=available)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Any valid cluster."""
    speed = st.none() | positives
    kinds = draw(
        lists_by(
            records(MachineKind, name=names, memory_bytes=st.none() | counts, speed=speed),
            lambda kind: kind.name,
        )
    )
    kind = st.sampled_from([k.name for k in kinds]) if kinds else names
    slots = st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
    machine = slots.flatmap(
        lambda pair: records(
            Machine, name=names, kind=st.none() | kind, speed=speed,
            slots=st.just(pair[0]), busy=st.just(pair[1]),
            cores=st.none() | st.integers(1, 64),
        )
    )  # fmt: skip
    rate = st.none() | positives
    link = records(
        Link, a=names, b=names, bytes_per_s=rate, back_bytes_per_s=rate,
        latency_ns=st.none() | counts, loss=st.none() | st.floats(0, 1, exclude_max=True),
    ).filter(lambda link: link.a != link.b)  # fmt: skip
    offer = records(
        Offer, name=names, kind=kind, usd_per_hour=positives,
        limit=st.none() | counts, notice_ns=st.none() | counts,
    )  # fmt: skip
    return Cluster(
        kinds=kinds,
        machines=draw(lists_by(machine, lambda m: m.name)),
        links=draw(lists_by(link, lambda x: tuple(sorted((x.a, x.b))))),
        offers=draw(lists_by(offer, lambda o: o.name)),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any valid plan."""
    weights = draw(st.lists(st.integers(1, 9), max_size=4))
    shares = [weight / sum(weights) for weight in weights]
    workers = [
        Worker(rank=rank, machine=draw(names), share=share) for rank, share in enumerate(shares)
    ]
    return draw(
        records(
            Plan, workers=st.permutations(workers).map(tuple),
            leases=lists_by(records(Lease, count=st.integers(0, 99)), lambda lease: lease.offer),
        )
    )  # fmt: skip


def reports() -> st.SearchStrategy[Report]:
    """Any report."""
    return records(Report)


def bills() -> st.SearchStrategy[Bill]:
    """Any bill."""
    return records(Bill)


_ARRANGED: dict[type, Callable[[], st.SearchStrategy[Any]]] = {
    Trace: traces, Graph: graphs, Profile: profiles, Cluster: clusters, Timeline: timelines,
    Plan: plans,
}  # fmt: skip

NOUNS = {noun: _ARRANGED.get(noun, partial(records, noun))() for noun in SAVED.values()}
