"""Dependencies that only the gaps between lanes show."""

from collections.abc import Sequence

import numpy as np
import pytest
from made_traces import MS, US
from small_jobs import Small

from paceline.model import UNKNOWN, Graph
from paceline.stitch.infer import inferred

Spans = list[tuple[int, int] | None]
# how long something varying takes in each of eight steps
WAITS = [30 * MS, 42 * MS, 35 * MS, 51 * MS, 28 * MS, 44 * MS, 39 * MS, 33 * MS]


def found(graph: Graph, steps: Sequence[Spans]) -> set[tuple[int, int]]:
    """The inferred pairs of a graph with the spans of each op, step by step."""
    table = [[(UNKNOWN, UNKNOWN) if span is None else span for span in spans] for spans in steps]
    times = np.array(table, dtype=np.int64).transpose(2, 1, 0)
    owner, target = inferred(graph, times[0], times[1])
    return set(zip(owner.tolist(), target.tolist(), strict=True))


def reducing(workers: int = 1) -> Graph:
    """Backward and update on main, a collective between them on comm; 3 ops a worker."""
    job = Small(workers)
    job.group("dp")
    for worker in range(workers):
        job.add(worker, "main", "compute", 0, name="backward")
        job.add(worker, "comm", "collective", 0, match="r", group="dp")
        job.add(worker, "main", "compute", 0, name="update")
    return job.graph


def waiting(wait: int, gap: int = 30 * US) -> Spans:
    return [(0, 10 * MS), (10 * MS, 10 * MS + wait), (10 * MS + wait + gap, 70 * MS + wait)]


def test_an_op_that_resumes_with_the_end_of_a_collective_is_after_it() -> None:
    assert (2, 1) in found(reducing(), [waiting(wait) for wait in WAITS])


def test_a_gap_that_varies_as_much_as_the_wait_tells_nothing() -> None:
    steps = [waiting(wait, gap=wait) for wait in WAITS]
    assert (2, 1) not in found(reducing(), steps)


def test_a_collective_that_is_still_under_way_is_not_awaited() -> None:
    steps = [waiting(wait) for wait in WAITS]
    steps[3][1] = (10 * MS, 90 * MS)
    assert (2, 1) not in found(reducing(), steps)


@pytest.mark.parametrize(("late", "expected"), [(1, True), (2, True), (3, False), (8, False)])
def test_on_crowded_cores_some_ends_are_stamped_milliseconds_late(
    late: int, expected: bool
) -> None:
    steps = [waiting(wait, gap=-2 * MS if at < late else 30 * US) for at, wait in enumerate(WAITS)]
    assert ((2, 1) in found(reducing(), steps)) is expected


def test_an_end_far_too_late_is_that_of_something_else() -> None:
    steps = [waiting(wait, gap=-9 * MS if wait == 51 * MS else 30 * US) for wait in WAITS]
    assert (2, 1) not in found(reducing(), steps)


def test_what_peers_wait_for_is_awaited_where_nobody_happened_to_wait() -> None:
    plain = [waiting(wait) for wait in WAITS]
    hidden = [waiting(wait, gap=wait) for wait in WAITS]
    assert (2, 1) not in found(reducing(), hidden)
    assert (5, 4) in found(reducing(2), [a + b for a, b in zip(plain, hidden, strict=True)])


def test_a_thread_stopped_before_it_stamps_its_end_is_awaited_all_the_same() -> None:
    steps = [waiting(wait, gap=-200 * US if wait == 51 * MS else 30 * US) for wait in WAITS]
    assert (2, 1) in found(reducing(), steps)


def test_steps_that_lack_the_op_do_not_count() -> None:
    steps = [waiting(wait) for wait in WAITS]
    steps[5] = [None, None, None]
    assert (2, 1) in found(reducing(), steps)


@pytest.mark.parametrize(("workers", "expected"), [(1, False), (8, True)])
def test_few_steps_are_judged_over_all_workers(workers: int, expected: bool) -> None:
    spans = [span for wait in WAITS[:workers] for span in waiting(wait)]
    pairs = found(reducing(workers), [spans])
    assert ((2, 1) in pairs) is expected
    both = {(3 * k + after, 3 * k + after - 1) for k in range(workers) for after in (1, 2)}
    assert pairs == (both if expected else set())


def test_what_an_op_is_after_already_is_not_explained_again() -> None:
    job = Small(1)
    job.add(0, "main", "compute", 0, name="backward")
    kernel = job.add(0, "gpu", "compute", 0)
    job.add(0, "other", "compute", 0)
    job.add(0, "main", "compute", 0, kernel, name="update")
    steps = [
        [(0, MS), (0, MS + wait), (0, MS + wait - 5 * US), (MS + wait + 9 * US, 90 * MS)]
        for wait in WAITS
    ]
    assert (3, 2) not in found(job.graph, steps)


def threads(busy: bool) -> tuple[Graph, list[Spans]]:
    """Forward on main, backward on a second thread, update on main; main may go on meanwhile."""
    job = Small(1)
    job.add(0, "main", "compute", 0, name="forward")
    job.add(0, "autograd", "compute", 0, name="backward")
    job.add(0, "main", "host", 0, name="poll")
    job.add(0, "main", "compute", 0, name="update")
    steps: list[Spans] = []
    for wait, other in zip(WAITS, reversed(WAITS), strict=True):
        began, ended = wait + 25 * US, wait + 25 * US + other
        poll = (wait + 5 * US, wait + 9 * US) if busy else (ended + 26 * US, ended + 27 * US)
        steps.append([(0, wait), (began, ended), poll, (ended + 30 * US, ended + MS)])
    return job.graph, steps


def test_threads_hand_over() -> None:
    assert found(*threads(busy=False)) == {(1, 0), (2, 1)}


def test_a_lane_that_goes_on_did_not_hand_over() -> None:
    assert found(*threads(busy=True)) == {
        (3, 1),
        (1, 2),
    }  # backward waits for the last thing main did


def test_a_dense_lane_hands_nothing_over() -> None:
    """Whatever ended just before is chance if its lane never falls still."""
    job, steps = Small(1), []
    for _ in range(40):
        job.add(0, "main", "host", 0)
    job.add(0, "gpu", "compute", 0)
    for wait in WAITS:
        spans: Spans = [(2 * MS * k, 2 * MS * (k + 1)) for k in range(40)]
        steps.append([*spans, (wait + 10 * US, wait + MS)])
    assert found(job.graph, steps) == set()


def test_a_call_that_waits_inside_is_after_what_it_waits_for() -> None:
    job = Small(1)
    job.add(0, "main", "host", 0, name="synchronize")
    job.add(0, "gpu", "compute", 0)
    steps: list[Spans] = [[(0, wait + 8 * US), (MS, wait)] for wait in WAITS]
    assert found(job.graph, steps) == {(0, 1)}


def test_a_call_as_long_as_ever_does_not_wait() -> None:
    job = Small(1)
    job.add(0, "main", "host", 0, name="work")
    job.add(0, "gpu", "compute", 0)
    assert found(job.graph, [[(0, 30 * MS), (MS, 30 * MS - 8 * US)]] * 8) == set()


def test_how_long_a_send_lasts_is_up_to_its_peer() -> None:
    job = Small(1)
    job.add(0, "send", "send", 0)
    job.add(0, "recv", "recv", 0)
    assert found(job.graph, [[(0, wait), (0, wait)] for wait in WAITS]) == set()


def test_beside_a_receive_the_send_of_an_exchange_explains_nothing() -> None:
    job = Small(1)
    job.add(0, "send", "send", 0)
    job.add(0, "recv", "recv", 0)
    job.add(0, "main", "compute", 0)
    steps: list[Spans] = [[(0, wait), (0, wait), (wait + 9 * US, wait + MS)] for wait in WAITS]
    assert found(job.graph, steps) == {(2, 1)}


def test_the_send_alone_does() -> None:
    job = Small(1)
    job.add(0, "send", "send", 0)
    job.add(0, "main", "compute", 0)
    assert found(job.graph, [[(0, wait), (wait + 9 * US, wait + MS)] for wait in WAITS]) == {(1, 0)}


def test_of_two_that_end_together_the_later_waits() -> None:
    job = Small(1)
    job.add(0, "a", "host", 0)
    job.add(0, "b", "host", 0)
    assert found(job.graph, [[(0, wait), (0, wait)] for wait in WAITS]) == {(1, 0)}


def test_a_marker_is_not_what_anybody_waits_for() -> None:
    job = Small(1)
    job.add(0, "main", "host", 0)
    job.add(0, "marks", "host", 0)
    assert found(job.graph, [[(0, wait), (wait, wait)] for wait in WAITS]) == {(1, 0)}


def test_a_collective_nobody_waits_for_is_used_by_the_next_that_waits_for_one() -> None:
    """The second bucket is always done before the first, for which the update is seen to wait."""
    job = Small(1)
    job.group("dp", 0)
    job.add(0, "main", "compute", 0, name="backward")
    job.add(0, "comm", "collective", 0, match="a", group="dp")
    job.add(0, "comm 2", "collective", 0, match="b", group="dp")
    job.add(0, "main", "compute", 0, name="update")
    steps = []
    for wait in WAITS:
        first = (10 * MS, 10 * MS + wait)
        steps.append([(0, 10 * MS), first, (11 * MS, 20 * MS), (first[1] + 9 * US, 99 * MS)])
    assert found(job.graph, steps) == {(1, 0), (2, 0), (3, 1), (3, 2)}


def test_a_collective_that_ends_after_all_others_have_begun_is_not_used() -> None:
    graph, steps = reducing(), []
    for wait in WAITS:
        spans = waiting(wait)
        spans[2] = (5 * MS, 6 * MS)
        steps.append(spans)
    assert found(graph, steps) == set()


def test_peers_wait_alike_though_one_never_had_to() -> None:
    """On the second worker the update is always late for another reason."""
    graph = reducing(2)
    steps = []
    for wait in WAITS:
        late = waiting(wait)
        late[2] = (95 * MS + 7 * wait, 99 * MS + 7 * wait)
        steps.append([*waiting(wait), *late])
    assert found(graph, steps) == {(1, 0), (2, 1), (4, 3), (5, 4)}


def test_a_peer_whose_times_speak_against_it_does_not() -> None:
    graph = reducing(2)
    steps = []
    for wait in WAITS:
        early = waiting(wait)
        early[2] = (11 * MS, 12 * MS)
        steps.append([*waiting(wait), *early])
    assert (5, 4) not in found(graph, steps)


def exchange() -> Graph:
    """Worker 0 computes, sends, computes; worker 1 computes and receives."""
    job = Small(2)
    job.add(0, "main", "compute", 0)
    job.add(0, "main", "send", 0, match="m")
    job.add(0, "main", "compute", 0)
    job.add(1, "main", "compute", 0)
    job.add(1, "main", "recv", 0, match="m")
    return job.graph


def sending(late: int, stays: bool) -> Spans:
    left = late + 3 * MS if stays else 2 * MS
    return [(0, MS), (MS, left), (left, left + MS), (0, late), (late, late + 3 * MS)]


def test_what_follows_a_send_that_waits_for_its_receiver_waits_too() -> None:
    assert found(exchange(), [sending(wait, stays=True) for wait in WAITS]) == {(2, 4)}


def test_a_send_that_leaves_before_its_receiver_comes_waits_for_nobody() -> None:
    assert found(exchange(), [sending(wait, stays=False) for wait in WAITS]) == set()


def test_a_receiver_that_is_always_there_first_tells_nothing() -> None:
    steps: list[Spans] = [
        [(0, wait), (wait, wait + MS), (wait + MS, wait + 2 * MS), (0, MS), (MS, wait + MS)]
        for wait in WAITS
    ]
    assert found(exchange(), steps) == set()


def test_one_lane_has_nothing_to_wait_for() -> None:
    job = Small(1)
    job.add(0, "main", "host", 0)
    assert found(job.graph, [[(0, 5)]]) == set()


def test_all_of_a_step_unknown() -> None:
    assert found(reducing(), [[None, None, None]] * 4) == set()
