"""Views of a trace, and the builder that readers fill."""

import numpy as np
import pytest

from paceline.model import (
    KINDS,
    PHASES,
    UNKNOWN,
    Event,
    Facts,
    Group,
    Kind,
    Norms,
    Note,
    Phase,
    Ping,
    Source,
    Table,
    TraceBuilder,
    no_norms,
    verify,
)


def test_an_event_of_which_all_is_known():
    builder = TraceBuilder()
    builder.add("fw", Kind.COMPUTE, "gpu", 1, 2)
    group = builder.group("dp0", (0, 1))
    index = builder.add(
        "ar", Kind.COLLECTIVE, "comm", 3, 4, phase=Phase.BACKWARD, step=5, layer="l1", size_bytes=6,
        group=group, sequence=7, peer=8, bucket=9, chunk=10, round=11, algorithm="ring", record=12,
        after=[(0, 0), (1, 99)],
    )  # fmt: skip
    trace = verify(builder.trace(0, clock="host"))
    assert index == 1
    assert trace.event(1) == Event(
        index=1, name="ar", kind=Kind.COLLECTIVE, phase=Phase.BACKWARD, lane="comm", start_ns=3,
        duration_ns=4, step=5, layer="l1", size_bytes=6, group="dp0", sequence=7, peer=8, bucket=9,
        chunk=10, round=11, algorithm="ring", record=12, after=((0, 0), (1, 99)),
    )  # fmt: skip


def test_an_event_of_which_little_is_known():
    builder = TraceBuilder()
    builder.add("fw", Kind.HOST, "cpu")
    trace = verify(builder.trace(0, clock=None))
    assert trace.event(0) == Event(
        index=0, name="fw", kind=Kind.HOST, phase=Phase.OTHER, lane="cpu", start_ns=None,
        duration_ns=None,
    )  # fmt: skip


def test_zero_is_known():
    builder = TraceBuilder()
    group = builder.group("g")
    builder.add("x", Kind.SEND, "l", 0, 0, step=0, size_bytes=0, sequence=0, peer=0, bucket=0,
                chunk=0, round=0, record=0, group=group)  # fmt: skip
    event = builder.trace(0, clock="host").event(0)
    known = (event.start_ns, event.duration_ns, event.step, event.size_bytes, event.sequence,
             event.peer, event.bucket, event.chunk, event.round, event.record)  # fmt: skip
    assert known == (0,) * 10
    assert event.group == "g"


def test_a_trace_hands_out_its_events_in_order():
    builder = TraceBuilder()
    for index in range(3):
        builder.add(f"e{index}", Kind.COPY, "gpu", index, 1, after=[(0, 0)] if index == 2 else ())
    trace = builder.trace(4, clock="host")
    assert len(builder) == len(trace) == 3
    assert [event.name for event in trace] == ["e0", "e1", "e2"]
    assert trace.after_from.tolist() == [0, 0, 0, 1]
    assert [event.after for event in trace] == [(), (), ((0, 0),)]


def test_an_empty_trace():
    trace = verify(TraceBuilder().trace(0, clock=None))
    assert (len(trace), list(trace), trace.norms) == (0, [], no_norms())
    assert trace.facts == Facts()


def test_what_a_trace_carries_beside_events():
    norms = Norms(step=[1], loss=[0.5], local=[2.0], average=[np.nan])
    carried = {
        "facts": Facts(machine="m0", workers=2),
        "pings": (Ping(peer=1, sent_ns=1, peer_ns=2, received_ns=3),),
        "norms": norms,
        "notes": (Note(code="gap", text="two events lost", count=2),),
        "sources": (Source(path="a.json"),),
    }
    trace = TraceBuilder().trace(0, clock="host", **carried)
    assert {name: getattr(trace, name) for name in carried} == carried
    assert len(trace.norms) == 1


def test_texts_are_kept_once():
    table = Table()
    assert [table.add(text) for text in ("b", "a", "b")] == [0, 1, 0]
    assert table.texts() == ("b", "a")


def test_members_of_a_group_fill_in_when_first_told():
    builder = TraceBuilder()
    assert [builder.group("a"), builder.group("b", (1,)), builder.group("a", (0, 1))] == [0, 1, 0]
    assert builder.group("a", (5,)) == 0  # what was told first stays
    assert builder.trace(0, clock=None).groups == (
        Group(name="a", members=(0, 1)), Group(name="b", members=(1,)),
    )  # fmt: skip


@pytest.mark.parametrize("column", ["step", "peer", "size_bytes"])
def test_a_number_that_fits_no_column_is_refused(column: str):
    with pytest.raises(OverflowError):
        TraceBuilder().add("x", Kind.HOST, "cpu", **{column: 2**63})


def test_unknown_is_no_time_that_occurs():
    assert np.iinfo(np.int64).min == UNKNOWN


def test_kinds_and_phases_by_their_words():
    assert list(KINDS) == ["compute", "copy", "send", "recv", "collective", "load", "host"]
    assert list(PHASES) == ["forward", "backward", "update", "other"]
    assert KINDS["recv"] is Kind.RECV
