"""Every rule broken once: `verify` states the rule and names who breaks it."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest

from paceline.model import (
    DECILES,
    RULES,
    UNKNOWN,
    Alignment,
    Bill,
    BillLine,
    Bucket,
    Certificate,
    Change,
    Cluster,
    Comparison,
    Graph,
    Group,
    Job,
    Kind,
    Link,
    Machine,
    MachineKind,
    ModelError,
    Noise,
    Norms,
    Offer,
    Phase,
    Plan,
    Profile,
    ProfiledWorker,
    Report,
    Spreads,
    Timeline,
    Trace,
    TraceBuilder,
    Work,
    Worker,
    no_norms,
    verify,
)

INF = float("inf")
NAN = float("nan")


def a_trace() -> Trace:
    builder = TraceBuilder()
    group = builder.group("dp", (0, 1))
    builder.add("fw", Kind.COMPUTE, "gpu", 0, 10, phase=Phase.FORWARD, layer="l1", step=0)
    builder.add("ar", Kind.COLLECTIVE, "comm", 10, 5, group=group, algorithm="ring", after=[(0, 0)])
    builder.add("late", Kind.HOST, "cpu", 20)
    return builder.trace(0, clock="host")


def a_graph() -> Graph:
    """Worker 0: op 0, then collective op 1. Worker 1: collective op 2, then op 3."""
    return Graph(
        kind=np.array([0, 4, 4, 0], np.uint8),
        phase=np.array([0, 1, 1, 2], np.uint8),
        worker=np.array([0, 0, 1, 1], np.int32),
        lane=np.array([0, 1, 1, 0], np.int32),
        work=np.array([0, 1, 1, 0], np.int32),
        layer=np.array([0, -1, -1, 0], np.int32),
        bucket=np.array([-1, 0, 0, -1], np.int32),
        size_bytes=np.array([-1, 8, 8, -1], np.int64),
        match=np.array([-1, 0, 0, -1], np.int32),
        after_from=np.array([0, 0, 1, 1, 2], np.int64),
        after_op=np.array([0, 2], np.int32),
        match_group=np.array([0], np.int32),
        workers=(0, 1),
        works=(Work(name="fw", kind=Kind.COMPUTE), Work(name="ar", kind=Kind.COLLECTIVE)),
        lanes=("gpu", "comm"),
        layers=("l1",),
        buckets=(Bucket(size_bytes=8),),
        groups=(Group(name="dp", members=(0, 1)),),
    )


def a_timeline() -> Timeline:
    return Timeline(start_ns=[0, 5, UNKNOWN, 9], end_ns=[5, 9, UNKNOWN, 9], step=3)


def some_spreads() -> Spreads:
    return Spreads(work=[0], kind=[0], count=[2], mean_ns=[1.0], deciles_ns=[1.0] * DECILES)


def a_noise() -> Noise:
    return Noise(worker=[0], step=[0], loss=[0.5], local=[NAN], average=[1.0])


def a_profile() -> Profile:
    return Profile(
        job=Job(),
        workers=tuple(ProfiledWorker(rank=rank, machine="m", kind=0) for rank in (0, 1)),
        missing_workers=(2,),
        kinds=("a100",),
        graph=a_graph(),
        durations=some_spreads(),
        leads=some_spreads(),
        measured=(a_timeline(),),
        alignment=(Alignment(worker=0, offset_ns=0, drift_ppm=0.0, raw_start_ns=0),),
        residual_ns=1.5,
        matching=(),
        noise=a_noise(),
        events=8,
    )  # fmt: skip


def a_cluster() -> Cluster:
    return Cluster(
        kinds=(MachineKind(name="a100", memory_bytes=8, speed=1.0),),
        machines=(Machine(name="m0", kind="a100", slots=2, busy=1), Machine(name="m1")),
        links=(Link(a="m0", b="sw", bytes_per_s=1.0, loss=0.5, latency_ns=5), Link(a="m1", b="sw")),
        offers=(Offer(name="od", kind="a100", usd_per_hour=4.0, limit=3, notice_ns=0),),
    )


def a_plan() -> Plan:
    return Plan(
        workers=(Worker(rank=1, machine="m1", share=0.5), Worker(rank=0, machine="m0", share=0.5))
    )


def a_report() -> Report:
    return Report(findings=(), checked=(), step_ns=(1.0, 1.0, 1.0))


def a_change(change: float) -> Change:
    return Change(what="step", before_ns=2.0, after_ns=1.0, change=change, interval=None)


def a_comparison() -> Comparison:
    return Comparison(step=a_change(-0.5), certain=True, parts=(), steps=(8, 8))


def a_bill() -> Bill:
    return Bill(lines=(BillLine(what="m0", hours=1.0, usd=2.0),), hours=1.0, usd=2.0)


def changed(noun: Any, **fields: Any) -> Any:
    """The noun with fields set; `column__3=7` sets one row of a column."""
    if isinstance(noun, msgspec.Struct):
        return msgspec.structs.replace(noun, **fields)
    whole: dict[str, Any] = {}
    for key, value in fields.items():
        name, _, row = key.partition("__")
        whole[name] = value
        if row:
            whole[name] = np.array(getattr(noun, name))
            whole[name][int(row)] = value
    return dataclasses.replace(noun, **whole)


def plus(noun: Any, field: str, *more: Any) -> Any:
    """The noun with more entries in one of its tables."""
    return changed(noun, **{field: (*getattr(noun, field), *more)})


def two_messages() -> Graph:
    """Worker 0 sends first and receives later; worker 1 receives later and sends first."""
    kinds = [Kind.RECV, Kind.SEND, Kind.RECV, Kind.SEND]  # each waits for the other's send
    return changed(
        a_graph(), kind=kinds, lane=[0] * 4, match=[0, 1, 1, 0], match_group=[-1, -1],
        after_from=[0] * 5, after_op=[],
    )  # fmt: skip


T, G, L, S, P, C, N = (
    a_trace(), a_graph(), a_timeline(), some_spreads(), a_profile(), a_cluster(), a_plan(),
)  # fmt: skip
SENDER = ProfiledWorker(rank=0, machine="m0", kind=0)

LISTED = "workers are listed once, with a kind of the table"
NAMED = "times name works and kinds that exist"
RANKS = "ranks are 0 to n - 1, once each"
SHARES = "shares are not negative and sum to 1"


def a_worker(rank: int, share: float) -> Worker:
    return Worker(rank=rank, machine="m", share=share)


def an_offer(name: str = "o", usd: float = 1.0, **more: Any) -> Offer:
    return Offer(name=name, usd_per_hour=usd, **({"kind": "a100"} | more))


BROKEN: list[tuple[str, Any, str]] = [
    # a trace
    ("all columns are equally long", changed(T, step=[0]), "column step"),
    ("the worker is a rank", changed(T, worker=-1), "worker"),
    ("the worker is a rank", changed(T, worker=2**70), "worker"),
    ("dependencies are well formed", changed(T, after_from=[0, 1]), "after_from"),
    ("dependencies are well formed", changed(T, after_from=[0, 2, 1, 1]), "after_from"),
    ("dependencies are well formed", changed(T, after_from=[1, 1, 1, 1]), "after_from"),
    ("dependencies are well formed", changed(T, after_from=[0, 0, 0, 0]), "after_from"),
    ("dependencies are well formed", changed(T, after_from=[0, 1, -(2**63), 1]), "after_from"),
    ("dependencies are well formed", changed(T, after_worker=[]), "after_from"),
    ("dependencies name events that exist, and not the event itself",
     changed(T, after_index=[3]), "event 1"),
    ("dependencies name events that exist, and not the event itself",
     changed(T, after_index=[1]), "event 1"),
    ("dependencies name events that exist, and not the event itself",
     changed(T, after_index=[-1]), "event 1"),
    ("every event has a name of the table", changed(T, name__1=3), "event 1"),
    ("every event has a name of the table", changed(T, name__1=-1), "event 1"),
    ("every event has a lane of the table", changed(T, lane__2=9), "event 2"),
    ("every layer is in the table", changed(T, layer__0=1), "event 0"),
    ("every group is in the table", changed(T, group__1=-2), "event 1"),
    ("every algorithm is in the table", changed(T, algorithm__1=1), "event 1"),
    ("every kind is known", changed(T, kind__0=7), "event 0"),
    ("every phase is known", changed(T, phase__0=4), "event 0"),
    ("no event ends before it starts", changed(T, duration_ns__0=-1), "event 0"),
    ("no event ends before it starts", changed(T, start_ns__0=UNKNOWN), "event 0"),
    ("sizes are not negative", changed(T, size_bytes__0=-2), "event 0"),
    ("a trace without clock has no times", changed(T, clock=None), "event 0, event 1, event 2"),
    ("all columns of norms are equally long",
     changed(T, norms=Norms(step=[0], loss=[], local=[0.0], average=[0.0])), "column loss"),
    # a graph
    ("all columns are equally long", changed(G, work=[0]), "column work"),
    ("dependencies are well formed", changed(G, after_from=[0, 0, 1, 1, 3]), "after_from"),
    ("dependencies name ops that exist", changed(G, after_op=[0, 4]), "an op outside"),
    ("workers are ranks", changed(G, workers=(0, 1, -1)), "workers"),
    ("workers are ranks", changed(G, workers=(0, 1, 2**80)), "workers"),
    ("every op has a work of the table", changed(G, work__1=2), "op 1"),
    ("every op has a lane of the table", changed(G, lane__1=-1), "op 1"),
    ("every layer is in the table", changed(G, layer__1=1), "op 1"),
    ("every bucket is in the table", changed(G, bucket__1=1), "op 1"),
    ("every match is in the table", changed(G, match__1=1), "op 1"),
    ("every match's group is in the table", changed(G, match_group__0=1), "match 0"),
    ("every kind is known", changed(G, kind__0=7), "op 0"),
    ("every phase is known", changed(G, phase__0=255), "op 0"),
    ("every op belongs to a listed worker", changed(G, worker__3=2), "op 3"),
    ("sizes are not negative", changed(G, size_bytes__0=-5), "op 0"),
    ("only sends, receives and collectives meet", changed(G, match__0=0), "op 0"),
    ("a worker takes part in a collective once", changed(G, worker__2=0), "op 2"),
    ("no op waits for itself", changed(G, after_op=[0, 3]), "op 3"),
    ("no op waits for itself", changed(G, after_op=[2, 1]), "op 1, op 2"),
    ("no op waits for itself", two_messages(), "op 0, op 1, op 2"),
    # a timeline
    ("starts and ends are equally long", changed(L, end_ns=[0]), "end_ns"),
    ("no op ends before it starts, and both are known or neither", changed(L, end_ns__1=4), "op 1"),
    ("no op ends before it starts, and both are known or neither",
     changed(L, start_ns__0=UNKNOWN), "op 0"),
    # spreads
    ("all columns are equally long", changed(S, count=[]), "column count"),
    ("all columns are equally long", changed(S, deciles_ns=[1.0]), "deciles_ns"),
    ("deciles rise, are finite, and count something", changed(S, deciles_ns__0=2.0), "row 0"),
    ("deciles rise, are finite, and count something", changed(S, deciles_ns__10=INF), "row 0"),
    ("deciles rise, are finite, and count something", changed(S, deciles_ns=[INF] * 11), "row 0"),
    ("deciles rise, are finite, and count something", changed(S, count=[0]), "row 0"),
    ("deciles rise, are finite, and count something", changed(S, mean_ns=[NAN]), "row 0"),
    # a profile
    (LISTED, plus(P, "workers", SENDER), "worker 0"),
    (LISTED,
     plus(P, "workers", ProfiledWorker(rank=3, machine="m3", kind=1)), "worker 3"),
    (LISTED,
     plus(P, "workers", ProfiledWorker(rank=2**31, machine="m3", kind=0)), "worker 2147483648"),
    (LISTED, changed(P, missing_workers=(1,)), "worker 1"),
    (LISTED, changed(P, workers=(SENDER,)), "the graph"),
    (NAMED, changed(P, leads=changed(S, work=[2])), "leads"),
    (NAMED, changed(P, durations=changed(S, kind=[1])), "durations"),
    ("all columns of noise are equally long",
     changed(P, noise=changed(a_noise(), loss=[])), "column loss"),
    ("measured steps time every op of the graph",
     plus(P, "measured", Timeline(start_ns=[0], end_ns=[1], step=9)), "step 9"),
    ("figures are finite", changed(P, residual_ns=INF), "profile.2"),
    ("figures are finite", changed(P, job=Job(n_crit=NAN)), "profile.0.n_crit"),
    # the parts of a profile, by their own rules
    ("sizes are not negative", changed(P, graph=changed(G, size_bytes__0=-5)), "graph breaks"),
    ("deciles rise, are finite, and count something",
     changed(P, leads=changed(S, count=[0])), "spreads breaks"),
    ("no op ends before it starts, and both are known or neither",
     changed(P, measured=(changed(L, end_ns__1=4),)), "timeline breaks"),
    # a cluster
    ("machine names are unique", plus(C, "machines", Machine(name="m0")), "m0"),
    ("kind names are unique", plus(C, "kinds", MachineKind(name="a100")), "a100"),
    ("offer names are unique", plus(C, "offers", an_offer("od")), "od"),
    ("no two links join the same two ends", plus(C, "links", Link(a="sw", b="m0")), "m0 - sw"),
    ("no link joins an end to itself", plus(C, "links", Link(a="sw", b="sw")), "sw"),
    ("machines and offers have a kind that is listed",
     plus(C, "machines", Machine(name="m2", kind="h100")), "m2 (kind h100)"),
    ("machines and offers have a kind that is listed",
     plus(C, "offers", an_offer(kind="h100")), "o (kind h100)"),
    ("rates are positive", plus(C, "links", Link(a="x", b="y", bytes_per_s=0.0)), "x - y"),
    ("rates are positive", plus(C, "links", Link(a="x", b="y", back_bytes_per_s=INF)), "x - y"),
    ("rates are positive", plus(C, "links", Link(a="x", b="y", bytes_per_s=NAN)), "x - y"),
    ("loss lies in [0, 1)", plus(C, "links", Link(a="x", b="y", loss=1.0)), "x - y"),
    ("loss lies in [0, 1)", plus(C, "links", Link(a="x", b="y", loss=-0.1)), "x - y"),
    ("no machine has fewer slots than are busy, or none",
     plus(C, "machines", Machine(name="m2", busy=2)), "m2"),
    ("no machine has fewer slots than are busy, or none",
     plus(C, "machines", Machine(name="m2", slots=0)), "m2"),
    ("no machine has fewer slots than are busy, or none",
     plus(C, "machines", Machine(name="m2", busy=-1)), "m2"),
    ("machines have at least one core", plus(C, "machines", Machine(name="m2", cores=0)), "m2"),
    ("speeds are positive", plus(C, "machines", Machine(name="m2", speed=0.0)), "m2"),
    ("speeds are positive", plus(C, "kinds", MachineKind(name="h", speed=NAN)), "h"),
    ("prices are positive", plus(C, "offers", an_offer(usd=NAN)), "o"),
    ("sizes, times and limits are not negative",
     plus(C, "kinds", MachineKind(name="h", memory_bytes=-1)), "h"),
    ("sizes, times and limits are not negative",
     plus(C, "links", Link(a="x", b="y", latency_ns=-1)), "x - y"),
    ("sizes, times and limits are not negative",
     plus(C, "offers", an_offer(limit=-1)), "o"),
    ("sizes, times and limits are not negative",
     plus(C, "offers", an_offer(notice_ns=-1)), "o"),
    ("figures are finite", plus(C, "offers", an_offer(usd=INF)),
     "cluster.offers.1.usd_per_hour"),
    # a plan, a report, a bill
    (RANKS, plus(N, "workers", a_worker(3, 0.0)), "workers"),
    (RANKS, plus(N, "workers", a_worker(1, 0.0)), "workers"),
    (SHARES,
     plus(N, "workers", a_worker(2, 0.1)), "workers"),
    (SHARES,
     plus(N, "workers", a_worker(2, -0.5), a_worker(3, 0.5)),
     "workers"),
    (SHARES,
     plus(N, "workers", a_worker(2, NAN)), "workers"),
    ("figures are finite",
     changed(N, certificate=Certificate(objective_s=1.0, lower_bound_s=1.0, gap=INF)),
     "plan.certificate.gap"),
    ("figures are finite", changed(a_report(), step_ns=(1.0, NAN, 1.0)), "report.step_ns.1"),
    ("figures are finite", changed(a_bill(), usd=-INF), "bill.usd"),
    ("figures are finite", changed(a_comparison(), step=a_change(NAN)), "comparison.step.change"),
]  # fmt: skip


@pytest.mark.parametrize(
    "noun",
    [T, G, L, S, P, C, N, a_report(), a_comparison(), a_bill(), Plan(), Cluster()],
    ids=lambda noun: type(noun).__name__,
)
def test_what_is_valid_comes_back_itself(noun: Any):
    assert verify(noun) is noun


def test_an_empty_trace_and_graph_are_valid():
    verify(TraceBuilder().trace(0, clock=None))
    none = {name: [] for name in ("kind", "phase", "worker", "lane", "work", "layer", "bucket",
                                  "size_bytes", "match", "after_op", "match_group")}  # fmt: skip
    verify(Graph(**none, after_from=[0], workers=(), works=(), lanes=()))


@pytest.mark.parametrize(
    ("says", "noun", "offender"),
    BROKEN,
    ids=[f"{type(noun).__name__}: {says}" for says, noun, _ in BROKEN],
)
def test_a_broken_rule_is_stated_with_who_breaks_it(says: str, noun: Any, offender: str):
    with pytest.raises(ModelError) as caught:
        verify(noun, "there.json")
    message = str(caught.value)
    assert message.startswith("there.json: ")
    assert f"The rule is: {says}." in message
    assert offender in message


def test_every_rule_is_broken_above():
    broken = {(type(noun), says) for says, noun, _ in BROKEN}
    assert {(noun, rule.says) for noun, rules in RULES.items() for rule in rules} <= broken


def test_three_offenders_are_named_and_more_are_hinted_at():
    with pytest.raises(ModelError, match="event 0, event 1, event 2, …"):
        verify(changed(a_long_trace(), size_bytes=[-2] * 5))


def a_long_trace() -> Trace:
    builder = TraceBuilder()
    for _ in range(5):
        builder.add("x", Kind.HOST, "cpu")
    return builder.trace(0, clock=None, norms=no_norms())


def test_a_worker_that_sends_to_itself_is_no_circle():
    kinds = [Kind.SEND, Kind.RECV, Kind.RECV, Kind.SEND]
    verify(
        changed(G, kind=kinds, match=[0, 0, -1, -1], after_from=[0] * 5, after_op=[], lane=[0] * 4)
    )


def test_many_workers_take_no_time():
    workers = tuple(ProfiledWorker(rank=rank, machine="m", kind=0) for rank in range(50_000))
    verify(changed(P, workers=workers, missing_workers=()))
