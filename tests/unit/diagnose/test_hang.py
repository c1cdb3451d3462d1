"""A worker that never enters a collective is named first."""

import dataclasses

import numpy as np

from jobs import Shape, traces
from paceline import diagnose, stitch
from paceline.model import UNKNOWN, Cause, Kind, Trace

JOB = Shape(workers=4, steps=8, layers=4, buckets=2)


def stopped(trace: Trace, sequence: int, enters: bool) -> Trace:
    """The trace up to its collective of that sequence, which it enters for good, or not at all."""
    at = int(np.flatnonzero((trace.kind == Kind.COLLECTIVE) & (trace.sequence == sequence))[0])
    keep = at + 1 if enters else at
    rows = {
        field.name: getattr(trace, field.name)[:keep]
        for field in dataclasses.fields(trace)
        if isinstance(getattr(trace, field.name), np.ndarray) and not field.name.startswith("after")
    }
    if enters:
        rows["duration_ns"] = np.r_[rows["duration_ns"][:-1], UNKNOWN]
    links = trace.after_from[: keep + 1]
    return dataclasses.replace(
        trace,
        **rows,
        after_from=links,
        after_worker=trace.after_worker[: links[-1]],
        after_index=trace.after_index[: links[-1]],
    )


def test_the_worker_that_never_came_is_the_first_finding() -> None:
    whole = traces(JOB, seed=1)
    cut = [stopped(trace, 11, enters=trace.worker != 2) for trace in whole]
    found = diagnose.report(stitch.profile(cut)).findings[0]
    assert (found.code, found.worker, found.cause) == ("PL501", 2, Cause.HANG)
    assert "all_reduce (dp, 11)" in found.evidence[0]
    assert "0, 1, 3" in found.evidence[0]
    assert "worker 2" in found.evidence[1]


def test_a_run_that_hangs_in_its_first_step_is_diagnosed_too() -> None:
    cut = [stopped(trace, 1, enters=trace.worker != 0) for trace in traces(JOB, seed=1)]
    found = diagnose.report(stitch.profile(cut)).findings[0]
    assert (found.code, found.worker) == ("PL501", 0)


def test_a_worker_that_left_no_trace_is_absent() -> None:
    cut = [stopped(trace, 5, enters=True) for trace in traces(JOB, seed=1)[:3]]
    found = diagnose.report(stitch.profile(cut)).findings[0]
    assert (found.code, found.worker) == ("PL501", 3)
    assert "left no trace" in found.evidence[1]


def test_a_recording_that_was_cut_off_is_no_hang() -> None:
    cut = [stopped(trace, 11, enters=True) for trace in traces(JOB, seed=1)]
    assert stitch.profile(cut).stuck == ()
