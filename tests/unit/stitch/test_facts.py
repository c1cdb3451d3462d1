"""What traces tell besides when ops ran."""

import numpy as np
from made_traces import Made

from paceline.model import Facts, Kind, Matching, Norms
from paceline.stitch import facts, match


def test_workers_are_on_the_machines_they_name() -> None:
    traces = []
    for rank, told in enumerate(({"machine": "m7", "device": "V100"}, {"device": "A100"}, {})):
        made = Made(rank)
        made.add("x", 0, 1)
        traces.append(made.trace(peak_bytes=100 + rank, **told))
    workers, kinds = facts.workers(traces)
    assert kinds == ("V100", "A100", "unknown")
    assert [(w.rank, w.machine, w.kind) for w in workers] == [
        (0, "m7", 0), (1, "worker-1", 1), (2, "worker-2", 2)
    ]  # fmt: skip
    assert workers[1].peak_bytes == 101


def test_noise_gathers_all_norms() -> None:
    traces = []
    for rank in range(2):
        made = Made(rank)
        made.add("x", 0, 1)
        norms = Norms(step=np.array([1, 2]), loss=np.array([rank, np.nan]), local=np.ones(2),
                      average=np.ones(2))  # fmt: skip
        traces.append(made.builder.trace(rank, clock="unix", facts=Facts(), norms=norms))
    noise = facts.noise(traces)
    assert noise.worker.tolist() == [0, 0, 1, 1]
    assert noise.step.tolist() == [1, 2, 1, 2]
    assert noise.loss[2] == 1


def test_matched_and_unmatched_are_counted_by_key() -> None:
    traces = []
    for rank in range(2):
        made = Made(rank)
        made.add("reduce", 0, 9, kind=Kind.COLLECTIVE, lane="a", group="dp", sequence=1)
        if rank:
            made.add("reduce", 10, 19, kind=Kind.COLLECTIVE, lane="a", group="dp", sequence=2)
        made.add("send", 20, 29, kind=Kind.SEND if rank else Kind.RECV, lane="b", peer=1 - rank)
        made.add("host", 30, 31)
        traces.append(made.trace())
    found = facts.matching(traces, match.events(traces))
    assert found == (
        Matching(kind="collective", key="group and sequence", matched=2, unmatched=1),
        Matching(kind="message", key="order", matched=2, unmatched=0),
    )


def test_each_source_is_told_once() -> None:
    made = Made()
    made.add("x", 0, 1)
    trace = made.trace(tool="profiler")
    assert [source.tool for source in facts.sources([trace, trace])] == ["profiler"]
