"""A step is what each worker takes for it, not from the first begin to the last end."""

import importlib

import pytest
from small_jobs import Small, replayed

overlap_ns = importlib.import_module("paceline.diagnose.whatif").overlap_ns


def staggered(later: int, *, meet: bool) -> Small:
    """Two workers of which one begins later; both end together, if they meet."""
    job = Small(2)
    job.group("dp")
    first = {
        worker: job.add(worker, "main", "compute", 10, lead=later * worker) for worker in range(2)
    }
    if meet:
        job.reduce("r", 20, 100, first)
    job.measured.append(replayed(job.graph, job.times))
    return job


@pytest.mark.parametrize("later", [0, 4, 9])
def test_what_one_begins_later_the_next_step_begins_before_this_one_ends(later: int) -> None:
    assert overlap_ns(staggered(later, meet=True).profile) == later / 2


def test_where_workers_never_meet_nothing_is_known() -> None:
    assert overlap_ns(staggered(4, meet=False).profile) == 0
