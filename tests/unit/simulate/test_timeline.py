"""How ops of known durations play: lanes, leads, meetings, messages, and what is refused."""

import numpy as np
import pytest
from small_jobs import Small

from paceline import simulate
from paceline.model import UNKNOWN, Graph, ModelError, Times


def played(small: Small) -> list[tuple[int, int]]:
    line = simulate.timeline(small.graph, small.times)
    return list(zip(line.start_ns.tolist(), line.end_ns.tolist(), strict=True))


def test_nothing_takes_no_time() -> None:
    line = simulate.timeline(Small(2).graph, Small(2).times)
    assert len(line) == 0
    assert line.step_ns == 0


def test_a_lane_plays_its_ops_one_after_the_other() -> None:
    small = Small(1)
    for ns in (10, 20, 30):
        small.add(0, "gpu", "compute", ns)
    assert played(small) == [(0, 10), (10, 30), (30, 60)]


def test_lanes_and_workers_play_side_by_side() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 10)
    small.add(0, "host", "host", 20)
    small.add(1, "gpu", "compute", 30)
    assert played(small) == [(0, 10), (0, 20), (0, 30)]


def test_an_op_waits_for_all_it_comes_after_and_then_for_its_lead() -> None:
    small = Small(2)
    first = small.add(0, "gpu", "compute", 10)
    second = small.add(1, "gpu", "compute", 25)
    small.add(0, "gpu", "compute", 5, first, second, lead=3)
    assert played(small)[-1] == (28, 33)


def test_an_op_may_wait_for_one_of_a_higher_number() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 5, 1)
    small.add(1, "gpu", "compute", 25)
    assert played(small) == [(25, 30), (0, 25)]


def test_members_arrive_alone_and_leave_together() -> None:
    small = Small(3)
    small.group("dp")
    for worker, ns in enumerate((10, 40, 20)):
        small.add(worker, "gpu", "compute", ns)
    for worker, ns in enumerate((5, 6, 7)):
        small.add(worker, "comm", "collective", ns, worker, match="c", group="dp")
    assert played(small)[3:] == [(10, 47), (40, 47), (20, 47)]


def test_a_collective_whose_others_left_no_trace_plays_alone() -> None:
    small = Small(2)
    small.add(0, "comm", "collective", 7, match="c")
    small.add(1, "comm", "collective", 9)
    assert played(small) == [(0, 7), (0, 9)]


def test_a_transfer_begins_when_both_ends_are_there() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 100)
    small.add(0, "out", "send", 5, 0, match="late send")
    small.add(1, "in", "recv", 30, match="late send")
    small.add(0, "out", "send", 5, match="late receive")
    small.add(1, "in", "recv", 30, match="late receive", lead=20)
    assert played(small)[1:] == [(100, 105), (0, 130), (105, 110), (150, 180)]


def test_messages_that_cross_do_not_block_each_other() -> None:
    small = Small(2)
    for worker in (0, 1):
        small.add(worker, "p2p", "send", 5, match=f"from {worker}")
        small.add(worker, "p2p", "recv", 10, match=f"from {1 - worker}")
    assert played(small) == [(0, 5), (5, 15)] * 2


def test_sends_and_receives_without_counterpart_play_alone() -> None:
    small = Small(2)
    small.add(0, "out", "send", 5, match="a")
    small.add(1, "in", "recv", 6, match="b")
    assert played(small) == [(0, 5), (0, 6)]


def test_a_send_of_unknown_length_takes_what_its_receive_takes() -> None:
    small = Small(2)
    small.add(0, "out", "send", -1, match="a")
    small.add(1, "in", "recv", 6, match="a")
    assert played(small) == [(0, 6), (0, 6)]


def test_ops_that_wait_for_themselves_are_named() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 5, 1, name="forward")
    small.add(1, "gpu", "compute", 5, 0, name="backward")
    with pytest.raises(ModelError, match='2 ops wait for themselves: "forward" of worker 0'):
        simulate.timeline(small.graph, small.times)


def test_collectives_entered_in_different_orders_wait_for_themselves() -> None:
    small = Small(2)
    small.group("dp")
    for worker, order in enumerate(("ab", "ba")):
        for match in order:
            small.add(worker, "comm", "collective", 5, match=match, group="dp")
    with pytest.raises(ModelError, match="4 ops wait for themselves"):
        simulate.timeline(small.graph, small.times)


@pytest.mark.parametrize("column", ["duration_ns", "lead_ns"])
def test_times_that_do_not_fit_are_refused(column: str) -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 5)
    columns = {"duration_ns": [5], "lead_ns": [0]}
    with pytest.raises(ModelError, match="there are 0"):
        simulate.timeline(small.graph, Times(**{**columns, column: []}))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="-2 ns"):
        simulate.timeline(small.graph, Times(**{**columns, column: [-2]}))  # type: ignore[arg-type]


def test_a_negative_lead_is_refused() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 5, lead=-1)
    with pytest.raises(ModelError, match="The lead of"):
        simulate.timeline(small.graph, small.times)


@pytest.mark.parametrize("kind", ["compute", "collective", "recv"])
def test_a_duration_that_nothing_gives_is_refused(kind: str) -> None:
    small = Small(1)
    small.add(0, "gpu", kind, -1)
    small.add(0, "gpu", kind, -1)
    with pytest.raises(ModelError, match="and of 1 more is not known"):
        simulate.timeline(small.graph, small.times)


def test_a_step_of_more_than_a_century_is_refused() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 2**61)
    small.add(0, "gpu", "compute", 2**61)
    with pytest.raises(ModelError, match="would take up to"):
        simulate.timeline(small.graph, small.times)


def test_a_message_with_two_senders_is_refused() -> None:
    small = Small(3)
    small.add(0, "out", "send", 1, match="a")
    small.add(1, "out", "send", 1, match="a")
    small.add(2, "in", "recv", 1, match="a")
    with pytest.raises(ModelError, match="two senders or two receivers"):
        simulate.timeline(small.graph, small.times)


def test_a_message_with_two_receivers_is_refused() -> None:
    small = Small(3)
    small.add(1, "in", "recv", 1, match="a")
    small.add(2, "in", "recv", 1, match="a")
    with pytest.raises(ModelError, match="two senders or two receivers"):
        simulate.timeline(small.graph, small.times)


def changed(graph: Graph, **columns: object) -> Graph:
    fields = {name: getattr(graph, name) for name in Graph.__dataclass_fields__}
    return Graph(**{**fields, **columns})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"after_op": [7]}, "dependency"),
        ({"after_op": [-1]}, "dependency"),
        ({"lane": [0, 5]}, "lane"),
        ({"work": [0, 9]}, "work"),
        ({"match": [-1, 3]}, "match"),
        ({"kind": [0, 77]}, "kind"),
        ({"worker": [0, 5]}, "does not list"),
        ({"worker": [0, -7]}, "does not list"),
        ({"lane": [0]}, "not equally long"),
        ({"after_from": [0, 2, 1]}, "not well formed"),
        ({"after_from": [0, 0, 2]}, "not well formed"),
        ({"after_from": [1, 1, 1]}, "not well formed"),
    ],
)
def test_indices_that_point_nowhere_are_refused(columns: dict[str, list[int]], says: str) -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 5)
    small.add(0, "gpu", "compute", 5, 0)
    with pytest.raises(ModelError, match=says):
        simulate.timeline(changed(small.graph, **columns), small.times)


def test_ranks_may_be_far_apart() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 5)
    small.add(1, "gpu", "compute", 6, 0)
    apart = changed(small.graph, workers=(3, 2**30), worker=np.array([2**30, 3]))
    assert simulate.timeline(apart, small.times).end_ns.tolist() == [5, 11]
    lost = changed(small.graph, workers=(3, 2**30), worker=np.array([2**30, 4]))
    with pytest.raises(ModelError, match="does not list"):
        simulate.timeline(lost, small.times)
    with pytest.raises(ModelError, match="does not list"):
        simulate.timeline(changed(small.graph, workers=()), small.times)


def test_many_lanes_of_few_ops_take_no_table_of_all_pairs() -> None:
    small = Small(2)
    small.add(0, "l0", "compute", 5)
    small.add(1, "l1", "compute", 6, 0)
    small.add(1, "l1", "compute", 7)
    lanes = tuple(f"l{at}" for at in range(2_000_000))
    line = simulate.timeline(changed(small.graph, lanes=lanes), small.times)
    assert line.end_ns.tolist() == [5, 11, 18]


def test_everything_has_a_time() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 0)
    line = simulate.timeline(small.graph, small.times)
    assert (line.start_ns != UNKNOWN).all()
    assert not line.measured
