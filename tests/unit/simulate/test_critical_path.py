"""What a step's length hangs on, by hand."""

import numpy as np
import pytest
from small_jobs import Small, star

from paceline import simulate
from paceline.model import UNKNOWN, ModelError, Timeline
from paceline.simulate import CriticalPath


def path(small: Small) -> CriticalPath:
    line = simulate.timeline(small.graph, small.times)
    return simulate.critical_path(small.graph, small.times, line)


def shown(found: CriticalPath) -> list[tuple[int, str, str, float]]:
    return [(part.worker, part.kind, part.name, part.ns) for part in found.parts]


def test_nothing_hangs_on_nothing() -> None:
    found = path(Small(1))
    assert (found.parts, found.ops, found.step_ns, found.length_ns) == ((), (), 0, 0)


def test_the_path_goes_through_the_worker_that_came_last() -> None:
    small = Small(3)
    small.group("dp")
    afters = {w: small.add(w, "gpu", "compute", ns) for w, ns in enumerate((10, 40, 20))}
    reduced = small.reduce("r", 7, 1, afters)
    small.add(0, "gpu", "compute", 5, reduced[0], name="update", lead=2)
    found = path(small)
    assert shown(found) == [
        (1, "compute", "compute", 40),
        (1, "collective", "all_reduce", 7),
        (0, "lead", "update", 2),
        (0, "compute", "update", 5),
    ]
    assert found.ops == (1, 4, 6)
    assert found.step_ns == found.length_ns == 54


def test_the_path_leaves_a_receive_by_its_send() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 30)
    small.add(0, "out", "send", 2, 0, match="a")
    small.add(1, "in", "recv", 9, match="a")
    assert shown(path(small)) == [(0, "compute", "compute", 30), (1, "recv", "recv", 9)]
    small.add(1, "other", "compute", 33)
    small.add(1, "in", "compute", 1, 3)
    assert shown(path(small))[0] == (0, "compute", "compute", 30)


def test_the_path_stays_with_a_receive_that_came_last() -> None:
    small = Small(2)
    small.add(1, "in", "compute", 30)
    small.add(0, "out", "send", 2, match="a")
    small.add(1, "in", "recv", 9, match="a")
    assert shown(path(small)) == [(1, "compute", "compute", 30), (1, "recv", "recv", 9)]


def test_a_flow_carries_the_path_from_its_send() -> None:
    small = Small(2)
    small.add(0, "gpu", "compute", 30)
    small.add(0, "out", "send", -1, 0, match="a", size=1000)
    late = small.add(1, "gpu", "compute", 500)
    small.add(1, "in", "recv", -1, late, match="a", size=1000)
    small.add(1, "in", "host", 7)
    cluster = star(["m0", "m1"], 1e9, 5)
    line = simulate.timeline(small.graph, small.times, cluster)
    found = simulate.critical_path(small.graph, small.times, line)
    assert shown(found) == [
        (0, "compute", "compute", 30),
        (1, "recv", "recv", 1010),
        (1, "host", "host", 7),
    ]
    small.rows[2]["ns"] = 5000  # now the receiver comes after the message
    line = simulate.timeline(small.graph, small.times, cluster)
    found = simulate.critical_path(small.graph, small.times, line)
    assert shown(found) == [
        (1, "compute", "compute", 5000), (1, "recv", "recv", 0), (1, "host", "host", 7),
    ]  # fmt: skip


def test_what_nothing_explains_is_a_wait() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 10)
    small.add(0, "gpu", "compute", 10, lead=3)
    record = Timeline(start_ns=np.array([5, 40]), end_ns=np.array([15, 55]), measured=True)
    found = simulate.critical_path(small.graph, small.times, record)
    assert shown(found) == [
        (0, "compute", "compute", 10),
        (0, "wait", "compute", 22),
        (0, "lead", "compute", 3),
        (0, "compute", "compute", 15),
    ]
    assert found.step_ns == record.step_ns == 50
    assert found.length_ns == 28


def test_records_that_break_the_order_still_sum_to_the_step() -> None:
    small = Small(2)
    first = small.add(0, "gpu", "compute", 10)
    small.add(1, "gpu", "compute", 10, first)
    small.add(1, "gpu", "compute", 10)
    record = Timeline(
        start_ns=np.array([0, 5, UNKNOWN]), end_ns=np.array([30, 20, UNKNOWN]), measured=True
    )
    found = simulate.critical_path(small.graph, small.times, record)
    assert found.step_ns == record.step_ns
    assert found.ops == (0,)
    record = Timeline(start_ns=np.array([0, 5, 25]), end_ns=np.array([30, 20, 45]), measured=True)
    found = simulate.critical_path(small.graph, small.times, record)
    assert found.step_ns == record.step_ns == 45


def test_a_record_of_nothing_has_no_path() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 10)
    nothing = Timeline(start_ns=np.array([UNKNOWN]), end_ns=np.array([UNKNOWN]))
    assert simulate.critical_path(small.graph, small.times, nothing).parts == ()


def test_a_timeline_of_another_graph_is_refused() -> None:
    small = Small(1)
    small.add(0, "gpu", "compute", 10)
    nothing = simulate.timeline(Small(1).graph, Small(1).times)
    with pytest.raises(ModelError, match="0 ops, the graph 1"):
        simulate.critical_path(small.graph, small.times, nothing)
