"""The published pipeline trace: all operations, step times as published, dependencies that hold."""

import collections
import json

import numpy as np
import pytest

from paceline import read
from paceline.model import Kind


@pytest.fixture(scope="module")
def traces(shared_data):
    pytest.importorskip("pyarrow")
    return read.traces(shared_data / "traces" / "pipeline-ops" / "trace-ST.parquet")


@pytest.fixture(scope="module")
def rows(shared_data):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = shared_data / "traces" / "pipeline-ops" / "trace-ST.parquet"
    return parquet.read_table(path).to_pylist()


def test_every_operation_arrives_once(traces, rows):
    assert sum(map(len, traces)) == 6784
    assert [trace.worker for trace in traces] == list(range(8))
    assert all(len(set(trace.step.tolist())) == 32 for trace in traces)
    counted = collections.Counter((row["rank"], row["step"], row["optype"]) for row in rows)
    found = collections.Counter(
        (trace.worker, event.step, event.name) for trace in traces for event in trace
    )
    assert found == counted


def test_times_within_a_step_are_those_of_the_file(traces, rows):
    origin = {
        step: min(int(t.start_ns[t.step == step].min()) for t in traces)
        for step in set(traces[0].step.tolist())
    }
    wanted = sorted(
        (row["rank"], row["step"], row["optype"], round(row["start_ts"] * 1e9),
         round(row["duration"] * 1e9))
        for row in rows
    )  # fmt: skip
    found = sorted(
        (trace.worker, event.step, event.name, event.start_ns - origin[event.step],
         event.duration_ns)
        for trace in traces
        for event in trace
    )  # fmt: skip
    assert found == wanted


def test_step_times_are_as_published(traces, shared_data):
    path = shared_data / "traces" / "pipeline-ops" / "result-ST.json"
    published = json.loads(path.read_text())["step_t_base"]
    assert len(published) == 32
    for step, seconds in published.items():
        own = [trace.step == int(step) for trace in traces]
        start = min(t.start_ns[mask].min() for t, mask in zip(traces, own, strict=True))
        end = max(
            (t.start_ns + t.duration_ns)[mask].max() for t, mask in zip(traces, own, strict=True)
        )
        assert (end - start) / 1e9 == pytest.approx(seconds, abs=5e-7)  # float32 near 2 s


def test_every_message_has_its_other_end(traces):
    ends = collections.Counter()
    for trace in traces:
        for event in trace:
            if event.kind in (Kind.SEND, Kind.RECV):
                sender, receiver = trace.worker, event.peer
                if event.kind is Kind.RECV:
                    sender, receiver = receiver, sender
                ends[sender, receiver, event.group, event.sequence, event.step] += 1
    assert len(ends) == 32 * 2 * 2 * 3 * 4  # steps, replicas, ways, links, micro-batches
    assert set(ends.values()) == {2}


def test_a_message_is_not_received_before_it_was_sent(traces):
    starts = {}
    for trace in traces:
        for event in trace:
            if event.kind is Kind.SEND:
                starts[event.group, event.sequence, event.peer] = event.start_ns
    for trace in traces:
        for event in trace:
            if event.kind is Kind.RECV:
                sent = starts[event.group, event.sequence, trace.worker]
                assert event.start_ns + event.duration_ns >= sent


def test_members_of_a_collective_leave_it_together(traces):
    ends = collections.defaultdict(list)
    for trace in traces:
        for event in trace:
            if event.kind is Kind.COLLECTIVE:
                members = next(g.members for g in trace.groups if g.name == event.group)
                ends[event.group, event.sequence].append(event.start_ns + event.duration_ns)
                assert trace.worker in members
    assert max(max(own) - min(own) for own in ends.values()) < 1_100_000
    sizes = collections.Counter(len(own) for own in ends.values())
    assert sizes == {1: 256, 2: 256 + 64, 8: 32}


def test_no_dependency_is_contradicted_by_the_times(traces):
    count = 0
    for trace in traces:
        ends = trace.start_ns + trace.duration_ns
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.after_from))
        target = trace.after_index
        assert (trace.after_worker == trace.worker).all()
        assert (ends[target] <= ends[owner]).all()
        assert (ends[target] <= trace.start_ns[owner] + 20_000).all()
        assert (trace.step[owner] == trace.step[target]).all()
        count += len(target)
    assert count > 6784


def test_computation_waits_for_its_message_and_its_forward_pass(traces):
    for trace in traces:
        names = [event.name for event in trace]
        for event in trace:
            waits = {names[at] for _, at in event.after}
            if event.name == "forward-compute" and event.layer != "stage 0":
                assert "forward-recv" in waits
            if event.name == "backward-compute":
                assert "forward-compute" in waits
                assert event.layer == "stage 3" or "backward-recv" in waits
            if event.name.endswith("-send"):
                assert event.name.replace("send", "compute") in waits
            if event.name == "optimizer":
                assert "optimizer-clip-main-grad" in waits
