"""Laws of the native format: what is written is read again equal, whole or cut anywhere."""

import contextlib
import dataclasses
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import names, norms, texts

from paceline import read, write
from paceline.model import (
    UNKNOWN,
    Facts,
    InputError,
    Kind,
    Norms,
    Note,
    Phase,
    Ping,
    Trace,
    TraceBuilder,
)

RANKS = st.integers(0, 5)
BELOW = st.integers(-1, 2**62 - 1)
SMALL = st.integers(-1, 2**31 - 1)
TIMES = st.integers(1 - 2**62, 2**62 - 1)
SIZES = st.none() | st.integers(0, 2**62 - 1)
ENDINGS = ("t.jsonl", "t.jsonl.gz", "t.parquet")


@st.composite
def one_trace(draw: st.DrawFn, worker: int, clock: str | None, workers: int | None) -> Trace:
    """Any trace that the native format can hold."""
    builder = TraceBuilder()
    groups = [
        builder.group(name, draw(st.none() | st.lists(RANKS, unique=True, max_size=3).map(tuple)))
        for name in draw(st.lists(names, max_size=3, unique=True))
    ]
    count = draw(st.integers(0, 6))
    for index in range(count):
        start = UNKNOWN if clock is None else draw(st.just(UNKNOWN) | TIMES)
        never_ended = start == UNKNOWN or draw(st.booleans())
        others = [i for i in range(count) if i != index]
        own = st.tuples(st.just(worker), st.sampled_from(others)) if others else st.nothing()
        theirs = st.tuples(st.integers(50, 60), st.integers(0, 99))
        builder.add(
            draw(texts),
            draw(st.sampled_from(Kind)),
            draw(names),
            start,
            UNKNOWN if never_ended else draw(st.integers(0, 2**62 - 1)),
            phase=draw(st.sampled_from(Phase)),
            step=draw(BELOW),
            layer=draw(st.none() | names),
            size_bytes=draw(BELOW),
            group=draw(st.sampled_from([-1, *groups])),
            sequence=draw(BELOW),
            peer=draw(st.integers(-1, 5)),
            bucket=draw(SMALL),
            chunk=draw(SMALL),
            round=draw(SMALL),
            algorithm=draw(st.none() | names),
            record=draw(BELOW),
            after=draw(st.lists(own | theirs, max_size=2)),
        )
    steps = draw(st.lists(st.integers(0, 2**62 - 1), max_size=2))
    column = st.lists(norms, min_size=len(steps), max_size=len(steps))
    words = st.none() | texts
    notes = draw(
        st.lists(st.builds(Note, code=texts, text=texts, count=st.integers(0, 9)), max_size=2)
    )
    if not count:
        notes.append(Note(code="empty", text="The worker has no events.", worker=worker))
    pings = st.builds(Ping, peer=RANKS, sent_ns=TIMES, peer_ns=TIMES, received_ns=TIMES)
    return builder.trace(
        worker,
        clock=clock,
        facts=Facts(
            machine=draw(words), device=draw(words), backend=draw(words), workers=workers,
            device_memory_bytes=draw(SIZES), peak_bytes=draw(SIZES),
        ),
        pings=tuple(draw(st.lists(pings, max_size=2))),
        norms=Norms(step=steps, loss=draw(column), local=draw(column), average=draw(column)),
        notes=tuple(notes),
    )  # fmt: skip


@st.composite
def runs(draw: st.DrawFn) -> tuple[Trace, ...]:
    """Traces of several workers on one clock."""
    ranks = draw(st.lists(RANKS, min_size=1, max_size=3, unique=True).map(sorted))
    clock = draw(st.just("unix") | st.none() | texts)
    workers = draw(st.none() | st.integers(1, 99))
    return tuple(draw(one_trace(rank, clock, workers)) for rank in ranks)


def again(traces: tuple[Trace, ...], name: str) -> tuple[Trace, ...]:
    """The traces, written and read."""
    with tempfile.TemporaryDirectory() as folder:
        write.traces(traces, Path(folder, name))
        return bare(read.traces(Path(folder, name)))


def bare(traces: tuple[Trace, ...]) -> tuple[Trace, ...]:
    return tuple(dataclasses.replace(trace, sources=()) for trace in traces)


@pytest.mark.parametrize("name", ENDINGS)
@given(st.integers(0, 5).flatmap(lambda rank: one_trace(rank, "unix", None)))
@settings(max_examples=40)
def test_a_trace_is_read_as_it_was_written(name: str, trace: Trace):
    assert again((trace,), name) == (trace,)


@pytest.mark.parametrize("name", ENDINGS)
@given(runs())
@settings(max_examples=40)
def test_a_run_is_read_as_it_was_written(name: str, traces: tuple[Trace, ...]):
    for mine, theirs in zip(traces, again(traces, name), strict=True):
        # groups that several workers declare in different orders come in the order of the first
        assert list(mine) == list(theirs)
        assert sorted(mine.groups, key=str) == sorted(theirs.groups, key=str)
        loose = {"groups": (), "group": mine.group * 0 - 1}
        assert dataclasses.replace(mine, **loose) == dataclasses.replace(theirs, **loose)


@given(runs(), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_the_order_of_lines_of_different_workers_does_not_matter(traces, random):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.jsonl")
        write.traces(traces, path)
        lines = path.read_text().split("\n")[:-1]
        head = [line for line in lines if "kind" not in json.loads(line)]
        own = [
            [x for x in lines if x not in head and json.loads(x)["worker"] == t.worker]
            for t in traces
        ]
        mixed = [at for at, events in enumerate(own) for _ in events]
        random.shuffle(mixed)
        path.write_text("\n".join([*head, *(own[at].pop(0) for at in mixed)]) + "\n")
        assert bare(read.traces(path)) == again(traces, "t.jsonl")


@given(runs(), st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_a_file_cut_anywhere_keeps_the_events_before_the_cut(traces, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.jsonl")
        write.traces(traces, path)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        kept = whole[:cut].split(b"\n")[:-1]  # a line without its end may count or not
        finished = sum(b'"kind"' in line for line in kept)
        with contextlib.suppress(InputError) if not finished else contextlib.nullcontext():
            found = sum(map(len, read.traces(path)))
            assert found - finished in (0, 1)
