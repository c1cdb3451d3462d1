"""Execution traces of eight ranks of one published job."""

import collections
import gzip
import json

import numpy as np
import pytest

from paceline import read
from paceline.model import Kind


@pytest.fixture(scope="module")
def paths(shared_data):
    return sorted((shared_data / "traces" / "dlrm8").glob("et_rank_*.json.gz"))


@pytest.fixture(scope="module")
def traces(paths):
    return read.traces(paths)


def test_every_operator_arrives_once_in_order(traces, paths):
    assert [trace.worker for trace in traces] == list(range(8))
    for trace, path in zip(traces, paths, strict=True):
        nodes = json.loads(gzip.decompress(path.read_bytes()))["nodes"]
        records = sorted(node["rf_id"] for node in nodes if node["rf_id"])
        assert trace.record.tolist() == records
        assert trace.clock is None


def test_all_ranks_call_the_same_collectives_in_the_same_order(traces):
    called = [
        [(e.name, e.sequence) for e in trace if e.kind is Kind.COLLECTIVE] for trace in traces
    ]
    assert collections.Counter(name for name, _ in called[0]) == {"all_to_all": 5, "all_reduce": 3}
    assert all([name for name, _ in own] == [name for name, _ in called[0]] for own in called)
    assert all(sequence is not None for own in called for _, sequence in own)


def test_dependencies_lead_back_in_time(traces):
    for trace in traces:
        owner = np.repeat(np.arange(len(trace)), np.diff(trace.after_from))
        assert (trace.after_worker == trace.worker).all()
        assert (trace.after_index < owner).all()
        assert len(owner) > 500


def test_what_a_collective_reduces_was_made_before_and_is_used_after(traces):
    for trace in traces:
        collectives = {e.index for e in trace if e.kind is Kind.COLLECTIVE}
        users = dict.fromkeys(collectives, 0)
        for event in trace:
            for _, at in event.after:
                if at in users:
                    users[at] += 1
        assert all(trace.event(at).after for at in collectives)
        # what is fetched for the next step is used there
        assert sum(count > 0 for count in users.values()) >= 5


def test_waits_come_after_the_collective_of_their_sequence(traces):
    for trace in traces:
        waits = [e for e in trace if e.name == "record_param_comms" and e.kind is Kind.HOST]
        targets = {at for event in waits for _, at in event.after}
        assert {trace.event(at).kind for at in targets} == {Kind.COLLECTIVE}
