"""Collectives that share links: each one's own part of the time, one after the other."""

import numpy as np
import pytest
from small_jobs import Small, replayed

from paceline import rewrite
from paceline.model import UNKNOWN, Kind, Timeline, Times, verify


def overlapping(ends: tuple[int, int] = (40, 60)) -> Small:
    """Two all-reduces in flight at once: one runs from 10, the other from 20."""
    job = Small(2)
    job.group("dp")
    first = {w: job.add(w, "main", "compute", 10, phase="backward") for w in range(2)}
    job.reduce("a", ends[0] - 10, 300, first, lane="thread 1")
    last = {w: job.add(w, "main", "compute", 10, phase="backward") for w in range(2)}
    job.reduce("b", ends[1] - 20, 400, last, lane="thread 2")
    job.measured.append(replayed(job.graph, job.times))
    return job


def own(job: Small, laid: rewrite.Serial, step: int = 0) -> dict[str, list[int]]:
    """By collective's size, what its members take in a step."""
    times = laid.times(job.times, laid.profile.measured[step])
    graph, found = laid.profile.graph, {}
    for op in graph:
        if op.kind == Kind.COLLECTIVE:
            found.setdefault(op.size_bytes, []).append(int(times.duration_ns[op.id]))
    return found


def test_each_takes_its_part_of_the_time_that_it_shared() -> None:
    job = overlapping()
    laid = rewrite.serial(job.profile)
    # from 10 to 60 one of them was under way, with 700 bytes in all
    assert own(job, laid) == {300: [21, 21], 400: [29, 29]}


def test_they_lie_on_one_lane_and_the_step_stays() -> None:
    job = overlapping()
    laid = rewrite.serial(job.profile)
    graph = verify(laid.profile.graph)
    lanes = {op.lane for op in graph if op.kind == Kind.COLLECTIVE}
    assert lanes == {"collectives"}
    times = laid.times(job.times, laid.profile.measured[0])
    assert replayed(graph, times).step_ns == replayed(job.graph, job.times).step_ns == 60


def test_what_never_overlapped_stays_as_it_is() -> None:
    job = overlapping(ends=(20, 60))
    laid = rewrite.serial(job.profile)
    assert laid.crowds == ()
    assert laid.profile.graph == job.graph
    assert laid.times(job.times, laid.profile.measured[0]) == job.times


def test_one_lane_is_one_after_the_other_already() -> None:
    job = Small(2)
    job.group("dp")
    for name in "ab":
        after = {w: job.add(w, "main", "compute", 10) for w in range(2)}
        job.reduce(name, 30, 100, after)
    job.measured.append(replayed(job.graph, job.times))
    assert rewrite.serial(job.profile).crowds == ()


def test_groups_of_other_members_keep_to_themselves() -> None:
    job = Small(4)
    for name, members in (("left", (0, 1)), ("right", (2, 3))):
        job.group(name, *members)
        after = {w: job.add(w, "main", "compute", 10) for w in members}
        job.reduce(name, 30, 100, after, group=name, lane=f"thread {name}")
    job.measured.append(replayed(job.graph, job.times))
    assert rewrite.serial(job.profile).crowds == ()


@pytest.mark.parametrize("gone", [0, 1])
def test_a_step_that_lacks_one_leaves_the_other_all_its_time(gone: int) -> None:
    job = overlapping()
    line = job.measured[0]
    start, end = line.start_ns.copy(), line.end_ns.copy()
    lost = np.array([op.size_bytes == (300, 400)[gone] for op in job.graph])
    start[lost], end[lost] = UNKNOWN, UNKNOWN
    job.measured.append(Timeline(start_ns=start, end_ns=end))
    found = own(job, rewrite.serial(job.profile), step=1)
    assert found == ({300: [30, 30], 400: [40, 40]})


def test_times_that_follow_from_links_stay_open() -> None:
    job = overlapping()
    laid = rewrite.serial(job.profile)
    talks = job.graph.kind == Kind.COLLECTIVE
    open_ = Times(duration_ns=np.where(talks, -1, 5), lead_ns=job.times.lead_ns)
    assert (laid.times(open_, laid.profile.measured[0]).duration_ns[talks] == -1).all()


def test_their_spreads_go_since_the_time_was_not_theirs_alone() -> None:
    job = overlapping()
    laid = rewrite.serial(job.profile).profile
    works = set(laid.durations.work.tolist())
    assert works
    talking = {int(laid.graph.work[op.id]) for op in laid.graph if op.kind == Kind.COLLECTIVE}
    assert not works & talking
