"""Own work, leads and spreads."""

import dataclasses

import numpy as np
import pytest
from made_traces import recorded
from small_jobs import Small

from paceline.model import UNKNOWN, Spreads, Timeline, verify
from paceline.stitch.fit import Recorded
from paceline.stitch.spread import spreads


def times(job: Small, *spans: tuple[int, int] | None) -> list[tuple[int, int]]:
    """(own work, lead) of each op of a step, by ours; equal to the plain definition."""
    start = np.array([UNKNOWN if span is None else span[0] for span in spans])
    end = np.array([UNKNOWN if span is None else span[1] for span in spans])
    found = Recorded(job.graph).times(start, end)
    own, lead = recorded(job.graph, Timeline(start_ns=start, end_ns=end))
    pairs = list(zip(found.duration_ns.tolist(), found.lead_ns.tolist(), strict=True))
    known = [span is not None for span in spans]
    assert [pair for pair, there in zip(pairs, known, strict=True) if there] == [
        pair for pair, there in zip(zip(own, lead, strict=True), known, strict=True) if there
    ]
    return pairs


def test_an_op_works_from_its_start_and_hesitates_before_it() -> None:
    job = Small(1)
    job.add(0, "main", "host", 0)
    job.add(0, "main", "host", 0)
    assert times(job, (5, 20), (23, 40)) == [(15, 5), (17, 3)]


def test_a_wait_is_no_work() -> None:
    job = Small(1)
    launch = job.add(0, "main", "host", 0)
    kernel = job.add(0, "gpu", "compute", 0, launch)
    job.add(0, "main", "host", 0, kernel)
    assert times(job, (0, 10), (12, 100), (10, 103)) == [(10, 0), (88, 2), (3, 0)]


def test_an_op_that_begins_before_what_it_awaits_has_ended() -> None:
    job = Small(1)
    launch = job.add(0, "main", "host", 0)
    job.add(0, "gpu", "compute", 0, launch)
    assert times(job, (0, 10), (8, 30)) == [(10, 0), (20, 0)]
    assert times(job, (0, 10), (4, 9)) == [(10, 0), (0, 0)]


def test_a_collective_lasts_as_long_as_for_the_last_to_come() -> None:
    job = Small(3)
    first = {worker: job.add(worker, "main", "compute", 0) for worker in range(3)}
    job.group("dp")
    job.reduce("r", 0, 8, first)
    spans = [(0, 10), (0, 40), (0, 25), (11, 60), (41, 61), (26, 59)]
    assert times(job, *spans)[3:] == [(19, 1)] * 3  # the last to come stamps its end last, too


def test_a_step_without_one_member_tells_of_the_others() -> None:
    job = Small(2)
    job.group("dp")
    job.add(0, "comm", "collective", 0, match="r", group="dp")
    job.add(1, "comm", "collective", 0, match="r", group="dp")
    assert times(job, (0, 30), None) == [(30, 0), (-1, -1)]


def test_a_receive_is_under_way_once_its_message_was_sent() -> None:
    job = Small(2)
    job.add(0, "to 1", "send", 0, match="m")
    job.add(1, "from 0", "recv", 0, match="m")
    assert times(job, (50, 60), (10, 75)) == [(10, 50), (25, 10)]
    assert times(job, (5, 9), (10, 75)) == [(4, 5), (65, 10)]
    assert times(job, None, (10, 75))[1] == (65, 10)
    assert times(job, (60, 70), (10, 30))[1] == (0, 10)  # clocks that disagree


def test_a_send_does_not_wait_for_a_receiver_that_reads_on() -> None:
    """The second chunk was on its way while the first was still being read."""
    job = Small(2)
    for chunk in ("one", "two"):
        job.add(0, "to 1", "send", 0, match=chunk)
        job.add(1, "from 0", "recv", 0, match=chunk)
    sends_and_receives = np.array([0, 12, 10, 24]), np.array([10, 24, 30, 36])
    own = Recorded(job.graph).times(*sends_and_receives).duration_ns
    assert own.tolist() == [10, 12, 6, 12]  # two messages: the sender waited for the receiver
    hops = dataclasses.replace(job.graph, bucket=np.zeros(4, dtype=np.int32))
    own = Recorded(hops).times(*sends_and_receives).duration_ns
    assert own.tolist() == [10, 12, 20, 12]


def test_an_op_that_a_step_lacks_is_stepped_over() -> None:
    job = Small(1)
    one = job.add(0, "main", "host", 0)
    two = job.add(0, "main", "host", 0)
    job.add(0, "main", "host", 0)
    job.add(0, "gpu", "compute", 0, one, two)
    assert times(job, (0, 10), None, (14, 20), (15, 30)) == [(10, 0), (-1, -1), (6, 4), (15, 5)]


def test_the_profile_of_no_op() -> None:
    assert len(Recorded(Small(1).graph).times(np.empty(0, int), np.empty(0, int))) == 0


def made(work: list[int], kind: list[int], values: list[list[int]]) -> Spreads:
    return verify(spreads(np.array(work), np.array(kind), np.array(values)))


def test_spreads_gather_by_work_and_machine_kind() -> None:
    found = made([0, 0, 1, 0], [0, 0, 0, 1], [[1, 3], [5, 7], [9, -1], [100, 100]])
    assert found.of(0, 0).count == 4  # type: ignore[union-attr]
    assert found.of(0, 0).mean_ns == 4  # type: ignore[union-attr]
    assert found.of(0, 0).deciles_ns == pytest.approx(
        np.quantile([1, 3, 5, 7], np.linspace(0, 1, 11))
    )  # type: ignore[union-attr]
    assert found.of(1, 0).deciles_ns == (9.0,) * 11  # type: ignore[union-attr]
    assert found.of(0, 1).median_ns == 100  # type: ignore[union-attr]
    assert found.of(1, 1) is None


def test_a_work_never_seen_has_no_spread() -> None:
    assert len(made([0], [0], [[-1, -1]])) == 0


def test_huge_times_are_sorted_as_well() -> None:
    found = made([0, 1], [0, 0], [[2**61, 1], [2**61, 2]])
    assert found.of(0, 0).deciles_ns[0] == 1  # type: ignore[union-attr]
    assert found.of(1, 0).deciles_ns[-1] == float(2**61)  # type: ignore[union-attr]
