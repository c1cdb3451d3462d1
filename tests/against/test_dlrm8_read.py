"""The public timelines of 8 workers: what is read against what the files say of themselves."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline import read
from paceline.model import Kind, Phase, Trace

RANKS = range(8)


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "traces" / "dlrm8"


@pytest.fixture(scope="module")
def files(folder: Path) -> list[Path]:
    return [folder / f"rank_{rank}.json.gz" for rank in RANKS]


@pytest.fixture(scope="module")
def traces(files: list[Path]) -> tuple[Trace, ...]:
    return read.traces(files)


@pytest.fixture(scope="module")
def raw(files: list[Path]) -> list[list[dict[str, Any]]]:
    return [json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] for path in files]


def spans(events: list[dict[str, Any]], *cats: str) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == "X" and event.get("cat") in cats]


def test_workers_and_facts(traces: tuple[Trace, ...]) -> None:
    assert [trace.worker for trace in traces] == list(RANKS)
    for trace in traces:
        assert trace.clock == "unix"
        assert trace.facts.device == "Tesla V100-SXM2-32GB"
        assert trace.facts.device_memory_bytes == 34079899648
        assert (trace.facts.backend, trace.facts.workers) == ("nccl", 8)
        assert not trace.notes
        assert trace.sources[0].tool == "kineto"


def test_as_many_events_of_each_kind_as_spans(
    traces: tuple[Trace, ...], raw: list[list[dict[str, Any]]]
) -> None:
    for trace, events in zip(traces, raw, strict=True):
        kinds = Counter(Kind(kind).name for kind in trace.kind.tolist())
        host = len(spans(events, "cpu_op", "cuda_runtime"))
        loads = sum("DataLoader" in event["name"] for event in spans(events, "user_annotation"))
        kernels = spans(events, "kernel")
        talking = sum("nccl" in event["name"] for event in kernels)
        assert kinds == {
            "HOST": host,
            "LOAD": loads,
            "COMPUTE": len(kernels) - talking,
            "COLLECTIVE": talking,
            "COPY": len(spans(events, "gpu_memcpy", "gpu_memset")),
        }


def test_counts_of_the_first_worker(traces: tuple[Trace, ...]) -> None:
    kinds = Counter(traces[0].kind.tolist())
    assert kinds[Kind.HOST] == 1633 + 525
    assert kinds[Kind.COMPUTE] + kinds[Kind.COLLECTIVE] == 245


def test_times_are_those_of_the_file(
    traces: tuple[Trace, ...], raw: list[list[dict[str, Any]]]
) -> None:
    for trace, events in zip(traces, raw, strict=True):
        wanted = spans(events, "cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset")
        expected = sorted((event["ts"] * 1000, event["dur"] * 1000) for event in wanted)
        kept = trace.kind != Kind.LOAD
        found = zip(trace.start_ns[kept].tolist(), trace.duration_ns[kept].tolist(), strict=True)
        assert sorted(found) == expected


def test_collectives_have_names_and_sizes(
    traces: tuple[Trace, ...], raw: list[list[dict[str, Any]]]
) -> None:
    each = {"float": 4, "int": 4, "long int": 8}
    for trace, events in zip(traces, raw, strict=True):
        talks = [event for event in trace if event.kind == Kind.COLLECTIVE]
        assert Counter(event.name for event in talks) == {"all_to_all": 5, "all_reduce": 3}
        notes = [event for event in spans(events, "user_annotation") if "nccl:" in event["name"]]
        expected = sorted(
            (
                event["name"][5:],
                event["args"]["Input Dims"][0][0] * each[event["args"]["Input type"][0]],
            )
            for event in notes
        )
        assert sorted((event.name, event.size_bytes) for event in talks) == expected
        assert {event.algorithm for event in talks} == {"ring"}
        assert {event.lane for event in talks} == {"stream 84"}


def test_everything_launched_in_the_step_belongs_to_step_10(traces: tuple[Trace, ...]) -> None:
    for trace in traces:
        device = np.isin(trace.kind, (Kind.COMPUTE, Kind.COPY, Kind.COLLECTIVE))
        assert set(trace.step[device].tolist()) == {10}
        assert (trace.step == 10).mean() > 0.99


def test_each_device_event_comes_after_its_launch(
    traces: tuple[Trace, ...], raw: list[list[dict[str, Any]]]
) -> None:
    for trace, events in zip(traces, raw, strict=True):
        calls = {e["args"]["correlation"]: e["ts"] for e in spans(events, "cuda_runtime")}
        device = spans(events, "kernel", "gpu_memcpy", "gpu_memset")
        # what was launched before the recording began has no launch in it
        expected = sorted((e["ts"], calls.get(e["args"]["correlation"], 0)) for e in device)
        found = [
            (event.start_ns // 1000, *(trace.event(at).start_ns // 1000 for _, at in event.after))
            for event in trace
            if event.lane.startswith("stream")
        ]
        assert sorted((start, *(launch or [0])) for start, *launch in found) == expected
        assert sum(launch > 0 for _, launch in expected) > 240


def test_synchronizations_come_after_what_they_waited_for(traces: tuple[Trace, ...]) -> None:
    for trace in traces:
        waits = [event for event in trace if "Synchronize" in event.name and event.after]
        assert len(waits) >= 5
        for wait in waits:
            for _, index in wait.after:
                awaited = trace.event(index)
                assert awaited.lane.startswith("stream")
                ended = awaited.start_ns + awaited.duration_ns
                assert ended <= wait.start_ns + wait.duration_ns + 2000
        whole = [event for event in trace if event.name == "cudaDeviceSynchronize"]
        assert [len(event.after) for event in whole] == [len(streams(trace))]


def streams(trace: Trace) -> set[str]:
    return {lane for lane in trace.lanes if lane.startswith("stream")}


def test_backward_runs_on_the_engine_thread_and_update_in_the_optimizer(
    traces: tuple[Trace, ...],
) -> None:
    for trace in traces:
        for event in trace:
            if event.name.startswith("autograd::engine::evaluate_function"):
                assert event.phase == Phase.BACKWARD
            if event.name == "all_reduce":
                assert event.phase == Phase.BACKWARD
        phases = Counter(trace.phase.tolist())
        assert phases[Phase.UPDATE] > 100
        assert phases[Phase.FORWARD] > 500


def test_one_file_or_all_is_the_same(files: list[Path], traces: tuple[Trace, ...]) -> None:
    for path, trace in zip(files, traces, strict=True):
        assert read.trace(path) == trace
