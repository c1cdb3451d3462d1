"""Laws of the simulator, on small random jobs: against definitions, and against each other."""

import dataclasses
from itertools import permutations

import numpy as np
from drawn_jobs import flow_jobs, lane_jobs
from hypothesis import given
from hypothesis import strategies as st
from small_jobs import Small, replayed

from engine_reference import by_heap, by_rule, max_min
from paceline import simulate
from paceline.model import Cluster, Graph, Kind, Times, verify

EXACT_NS = 3  # ends are rounded to whole ns, and rounding can be passed on


def star_routes(graph: Graph) -> dict[int, list[int]]:
    """The links of each flow on a star whose machine i has link i."""
    send = {int(graph.match[op]): op for op in np.flatnonzero(graph.kind == Kind.SEND)}
    return {
        int(op): [2 * int(graph.worker[send[int(graph.match[op])]]), 2 * int(graph.worker[op]) + 1]
        for op in np.flatnonzero(graph.kind == Kind.RECV)
    }


@given(lane_jobs())
def test_lanes_play_as_defined(small: Small) -> None:
    line = simulate.timeline(small.graph, small.times)
    assert line == replayed(small.graph, small.times)
    assert by_heap(small.graph, small.times) == (line.start_ns.tolist(), line.end_ns.tolist())
    verify(line)


@given(flow_jobs())
def test_flows_share_links_max_min_fairly(job: tuple[Small, Cluster]) -> None:
    small, cluster = job
    graph, times = small.graph, small.times
    line = simulate.timeline(graph, times, cluster)
    start, end = by_rule(graph, times, cluster, star_routes(graph), max_min)
    assert np.abs(line.start_ns - start).max() <= EXACT_NS
    assert np.abs(line.end_ns - end).max() <= EXACT_NS


@given(lane_jobs(), st.data())
def test_a_slower_op_never_shortens_a_step(small: Small, data: st.DataObject) -> None:
    graph, times = small.graph, small.times
    if not len(graph):
        return
    op = data.draw(st.integers(0, len(graph) - 1))
    column = data.draw(st.sampled_from(["duration_ns", "lead_ns"]))
    slower = getattr(times, column).copy()
    slower[op] += data.draw(st.integers(1, 500))
    other = simulate.timeline(graph, dataclasses.replace(times, **{column: slower}))
    line = simulate.timeline(graph, times)
    assert (other.end_ns >= line.end_ns).all()


@given(lane_jobs())
def test_path_step_and_serial_sum_are_in_order(small: Small) -> None:
    graph, times = small.graph, small.times
    line = simulate.timeline(graph, times)
    path = simulate.critical_path(graph, times, line)
    serial = int(times.duration_ns.sum() + times.lead_ns.sum())
    assert path.length_ns == path.step_ns == line.step_ns  # nothing is left to explain
    assert line.end_ns.max(initial=0) <= serial


@given(flow_jobs())
def test_path_and_serial_sum_of_flows(job: tuple[Small, Cluster]) -> None:
    small, cluster = job
    graph, times = small.graph, small.times
    line = simulate.timeline(graph, times, cluster)
    path = simulate.critical_path(graph, times, line)
    alone = sum(
        int(graph.size_bytes[op]) * 1e9 / min(rates(cluster)[link] for link in links)
        + sum(int(cluster.links[link // 2].latency_ns or 0) for link in links)
        for op, links in star_routes(graph).items()
    )
    serial = np.maximum(times.duration_ns, 0).sum() + times.lead_ns.sum() + alone
    assert path.length_ns == path.step_ns == line.step_ns
    assert line.end_ns.max() <= serial + EXACT_NS * len(graph)


def rates(cluster: Cluster) -> list[float]:
    return [rate or 0.0 for x in cluster.links for rate in (x.bytes_per_s, x.back_bytes_per_s)]


@given(lane_jobs(), st.sampled_from(list(permutations(range(3)))))
def test_renumbering_workers_changes_nothing(small: Small, order: tuple[int, ...]) -> None:
    graph, times = small.graph, small.times
    other = dataclasses.replace(graph, worker=np.array(order)[graph.worker])
    assert simulate.timeline(other, times) == simulate.timeline(graph, times)


@given(flow_jobs(), st.sampled_from(list(permutations(range(4)))))
def test_renumbering_workers_changes_no_flow(
    job: tuple[Small, Cluster], order: tuple[int, ...]
) -> None:
    small, cluster = job
    graph, times = small.graph, small.times
    other = dataclasses.replace(graph, worker=np.array(order)[graph.worker])
    where = {order[at]: f"m{at}" for at in range(4)}
    line = simulate.timeline(graph, times, cluster)
    assert simulate.timeline(other, times, cluster, machines=where) == line
    assert simulate.timeline(graph, times, cluster) == line


@given(lane_jobs(), st.data())
def test_reordering_independent_ops_changes_nothing(small: Small, data: st.DataObject) -> None:
    graph, times = small.graph, small.times
    place = graph.worker * len(graph.lanes) + graph.lane
    keys = np.array(data.draw(st.lists(st.integers(0, 9), min_size=99, max_size=99)))[place]
    order = np.argsort(keys, kind="stable")  # whole lanes move, each keeps its own order
    line = simulate.timeline(graph, times)
    moved = simulate.timeline(*reordered(graph, times, order))
    assert (moved.start_ns == line.start_ns[order]).all()
    assert (moved.end_ns == line.end_ns[order]).all()


def reordered(graph: Graph, times: Times, order: np.ndarray) -> tuple[Graph, Times]:
    """The same job with its ops in another order."""
    new = np.empty(len(order), dtype=np.int64)
    new[order] = np.arange(len(order))
    after = [new[graph.after(int(op))] for op in order]
    moved = dataclasses.replace(
        graph,
        after_from=np.concatenate([[0], np.cumsum([len(own) for own in after])]).astype(np.int64),
        after_op=np.concatenate([np.empty(0, np.int64), *after]).astype(np.int32),
        **{
            name: getattr(graph, name)[order]
            for name in ("kind", "phase", "worker", "lane", "work", "layer", "bucket",
                         "size_bytes", "match")
        },
    )  # fmt: skip
    return moved, Times(duration_ns=times.duration_ns[order], lead_ns=times.lead_ns[order])


@given(lane_jobs(posted=True))
def test_a_recorded_step_plays_as_it_was(small: Small) -> None:
    graph, times = small.graph, small.times
    line = simulate.timeline(graph, times)
    small.measured = [line]
    again = simulate.timeline(graph, simulate.times(small.profile, step=0))
    first = int(line.start_ns.min(initial=10**9)) if len(graph) else 0
    assert (again.end_ns == line.end_ns - first).all()
    assert again.step_ns == line.step_ns


@given(lane_jobs(), st.integers(0, 2**63))
def test_same_seed_same_times(small: Small, seed: int) -> None:
    graph, times = small.graph, small.times
    small.measured = [
        simulate.timeline(graph, dataclasses.replace(times, duration_ns=times.duration_ns + more))
        for more in range(12)
    ]
    once = simulate.times(small.profile, seed=seed)
    assert simulate.times(small.profile, seed=seed) == once
