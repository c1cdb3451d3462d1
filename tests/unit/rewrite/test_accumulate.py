"""accumulate: several micro-batches before gradients are exchanged."""

import pytest
from small_jobs import Small, replayed, step_ns

from paceline import rewrite
from paceline.model import Edit, InputError, Kind, verify


def edited(small: Small, *texts: str) -> rewrite.Rewritten:
    edits = [Edit.parse(text) for text in texts]
    out = rewrite.edited(small.graph, small.times, edits, profile=small.profile)
    verify(out.graph)
    return out


def host_only(workers: int = 2) -> Small:
    """Load, forward, backward on main; the gradients' exchange; copy back, update."""
    job = Small(workers)
    job.group("dp")
    last: dict[int, int] = {}
    for worker in range(workers):
        job.add(worker, "main", "load", 5, lead=3)
        job.add(worker, "main", "compute", 40 + worker, phase="forward")
        last[worker] = job.add(worker, "main", "compute", 60, phase="backward")
    done = job.reduce("r", 30, 400, last)
    for worker in range(workers):
        job.add(worker, "main", "copy", 2, done[worker], phase="backward")
        job.add(worker, "main", "compute", 7, phase="update")
    return job


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_micro_batches_come_one_after_the_other_and_the_rest_once(steps: int) -> None:
    job = host_only()
    out = edited(job, f"accumulate{{steps={steps}}}")
    once = step_ns(job.graph, job.times)
    # the step runs from its first start; the slower worker sets it
    assert step_ns(out.graph, out.times) == once + (steps - 1) * (5 + 41 + 60)
    assert (out.graph.kind == Kind.COLLECTIVE).sum() == 2
    assert len(out.graph) == len(job.graph) + (steps - 1) * 2 * 3


def test_the_exchange_still_hides_behind_what_it_hid_behind() -> None:
    job = Small(1)
    job.group("dp")
    first = job.add(0, "main", "compute", 50, phase="backward")
    job.reduce("early", 40, 400, {0: first})
    last = job.add(0, "main", "compute", 60, phase="backward")
    job.reduce("late", 10, 100, {0: last})
    out = edited(job, "accumulate{steps=3}")
    assert step_ns(out.graph, out.times) == 2 * 110 + 50 + 60 + 10


def test_a_micro_batch_waits_for_the_engine_thread_of_the_one_before() -> None:
    job = Small(1)
    forward = job.add(0, "main", "host", 10, phase="forward")
    kernel = job.add(0, "gpu", "compute", 100, forward, phase="forward")
    backward = job.add(0, "engine", "host", 20, forward, phase="backward")
    job.add(0, "gpu", "compute", 150, backward, kernel, phase="backward")
    out = edited(job, "accumulate{steps=2}")
    line = replayed(out.graph, out.times)
    start = {(op.name, op.lane, op.phase.name): line.start_ns[op.id] for op in list(out.graph)[4:]}
    assert start["host", "main", "FORWARD"] == 30  # not before the host's other thread is done
    assert line.step_ns == 10 + 100 + 150 + 100 + 150  # and the device never rests


def test_every_copy_stands_for_its_op() -> None:
    job = host_only(1)
    out = edited(job, "accumulate{steps=3}")
    rows = [int(op) for op in out.origin]
    assert rows == [0, 1, 2, 0, 1, 2, *range(len(job.graph))]


def test_it_composes_with_other_edits() -> None:
    out = edited(host_only(), "accumulate{steps=2}", "accumulate{steps=3}")
    assert step_ns(out.graph, out.times) >= 5 * 106
    out = edited(host_only(), "speed{kind=compute,factor=2}", "accumulate{steps=2}")
    assert step_ns(out.graph, out.times) < 2 * 106


def test_without_phases_it_is_refused() -> None:
    job = Small(1)
    job.add(0, "main", "compute", 10)
    with pytest.raises(InputError, match="forward or backward"):
        edited(job, "accumulate{steps=2}")
    with pytest.raises(InputError, match="steps"):
        edited(job, "accumulate{}")


def test_a_graph_that_would_be_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="too many ops"):
        edited(host_only(), "accumulate{steps=100000000}")
