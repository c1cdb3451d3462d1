"""Hops of a transport become the collectives that they are parts of."""

import numpy as np
import pytest
from small_jobs import Small, replayed

from paceline import rewrite
from paceline.model import UNKNOWN, Bucket, Edit, Kind, Profile, Timeline, verify
from paceline.reduce import ALL_REDUCE

SIZE = 1200


def hop(job: Small, at: tuple[int, int], name: str, bucket: int, share: int, after: int) -> int:
    """A message of `share` bytes between two workers; the receive's id."""
    source, target = at
    rest = {"phase": "backward", "size": share, "bucket": bucket, "algorithm": "ring",
            "group": "dp", "match": name}  # fmt: skip
    job.add(source, f"to {target}", "send", 10, after, name="reduce", **rest)  # type: ignore[arg-type]
    return job.add(target, f"from {source}", "recv", 10, name="reduce", **rest)  # type: ignore[arg-type]


def ring(workers: int = 3, buckets: int = 2, told: int = SIZE) -> Small:
    """Backward, an all-reduce of each bucket hop by hop, a wait for it, an update."""
    job = Small(workers)
    job.group("dp")
    job.buckets = [Bucket(size_bytes=told)] * buckets
    waits: dict[int, list[int]] = {worker: [] for worker in range(workers)}
    for bucket in range(buckets):
        got = {
            worker: job.add(worker, "main", "compute", 50 + worker, phase="backward")
            for worker in range(workers)
        }
        for turn in range(2 * (workers - 1)):
            got = {
                (worker + 1) % workers: hop(
                    job, (worker, (worker + 1) % workers), f"{bucket} {turn} {worker}", bucket,
                    SIZE // workers, got[worker],
                )
                for worker in range(workers)
            }  # fmt: skip
        for worker, last in got.items():
            waits[worker].append(last)
    for worker in range(workers):
        job.add(worker, "main", "compute", 9, *waits[worker], phase="update")
    job.measured.append(replayed(job.graph, job.times))
    return job


@pytest.mark.parametrize(("workers", "told"), [(2, SIZE), (3, SIZE), (5, SIZE), (3, 0)])
def test_hops_become_collectives_of_their_buckets(workers: int, told: int) -> None:
    before = ring(workers, told=told).profile
    after = verify(rewrite.whole(before))
    assert rewrite.has_hops(before.graph)
    assert not rewrite.has_hops(after.graph)
    ops = [op for op in after.graph if op.kind == Kind.COLLECTIVE]
    assert len(ops) == 2 * workers
    assert {op.size_bytes for op in ops} == {SIZE}
    assert {op.work.algorithm for op in ops} == {"ring"}
    assert all({after.graph.worker[one] for one in op.members} == set(range(workers)) for op in ops)
    assert {op.group for op in ops} == {"dp"}
    assert not np.isin(after.graph.kind, (Kind.SEND, Kind.RECV)).any()


def test_they_last_from_their_first_hop_to_their_last_and_the_step_stays() -> None:
    before = ring().profile
    after = rewrite.whole(before)
    (was,), (now,) = before.measured, after.measured
    assert now.step_ns == was.step_ns
    for op in after.graph:
        if op.kind == Kind.COLLECTIVE:
            mine = (before.graph.bucket == op.bucket) & (before.graph.worker == op.worker)
            assert now.start_ns[op.id] == was.start_ns[mine].min()
            assert now.end_ns[op.id] == was.end_ns[mine].max()


def test_who_waited_for_hops_waits_for_the_collective_and_it_for_backward() -> None:
    graph = rewrite.whole(ring().profile).graph
    names = {op.id: (op.name, op.worker) for op in graph}
    for op in graph:
        if op.kind == Kind.COLLECTIVE:
            assert [names[one] for one in op.after] == [("compute", op.worker)]
    updates = [op for op in graph if op.phase.name == "UPDATE"]
    assert [len(op.after) for op in updates] == [2, 2, 2]


def test_hops_that_a_step_lacks_leave_its_collective_unknown() -> None:
    job = ring()
    line = job.measured[0]
    gone = (job.graph.bucket == 0) & (job.graph.worker == 1)
    start, end = line.start_ns.copy(), line.end_ns.copy()
    start[gone], end[gone] = UNKNOWN, UNKNOWN
    job.measured.append(Timeline(start_ns=start, end_ns=end))
    after = rewrite.whole(job.profile)
    op = next(
        o for o in after.graph if o.kind == Kind.COLLECTIVE and (o.bucket, o.worker) == (0, 1)
    )
    assert after.measured[0].start_ns[op.id] != UNKNOWN
    assert after.measured[1].start_ns[op.id] == after.measured[1].end_ns[op.id] == UNKNOWN


def test_what_is_no_hop_stays() -> None:
    job = Small(2)
    job.group("dp")
    first = {worker: job.add(worker, "main", "compute", 5) for worker in range(2)}
    job.reduce("r", 7, 100, first)
    job.add(0, "out", "send", 3, match="m", size=8)
    job.add(1, "in", "recv", 3, match="m", size=8)
    before: Profile = job.profile
    assert rewrite.whole(before) is before


def test_edits_of_collectives_can_then_be_played() -> None:
    profile = rewrite.whole(ring().profile)
    ops = profile.graph.kind == Kind.COLLECTIVE
    times = ring().times
    from paceline import simulate  # the times of a measured step, as diagnosis takes them

    times = simulate.times(profile, step=0)
    for text in ("fuse-buckets{limit_bytes=1MB}", "workers{count=2}", "collective{algorithm=ps}"):
        out = rewrite.edited(profile.graph, times, [Edit.parse(text)], profile=profile)
        verify(out.graph)
        assert len(out.graph) <= len(profile.graph)
    assert ops.sum() == 6
    assert ALL_REDUCE["ring"]([[0], [1], [2]]).share.sum() == pytest.approx(4)
