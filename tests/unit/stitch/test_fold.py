"""All steps of all workers as one graph, and when each op ran in every step."""

from collections.abc import Sequence

import numpy as np
import pytest
from made_traces import Made

from paceline.model import UNKNOWN, Alignment, Graph, Kind, Op, Trace, verify
from paceline.stitch import flatten, match
from paceline.stitch.fold import Folded, evenly, ops
from paceline.stitch.fold_graph import graph, links
from paceline.stitch.fold_matches import meetings

COLLECTIVE, SEND, RECV, COMPUTE = Kind.COLLECTIVE, Kind.SEND, Kind.RECV, Kind.COMPUTE


def folded(
    traces: Sequence[Trace], steps: Sequence[int], offsets: dict[int, int] | None = None
) -> tuple[Graph, Folded]:
    meets = flatten.linked(traces)
    pieces = [flatten.pieces(t, steps, own) for t, own in zip(traces, meets, strict=True)]
    clocks = [
        Alignment(worker=t.worker, offset_ns=(offsets or {}).get(t.worker, 0), drift_ppm=0.0,
                  raw_start_ns=0)
        for t in traces
    ]  # fmt: skip
    found = ops(traces, pieces, clocks, len(steps))
    meet = meetings(found, match.events(traces))
    return verify(graph(found, traces, meet, links(found, traces))), found


def named(graph: Graph, name: str, worker: int = 0) -> list[Op]:
    return [op for op in graph if op.name == name and op.worker == worker]


def two_workers(steps: int = 3, clock: int = 0) -> list[Trace]:
    """Launch, kernel and collective on two workers; the second is 5 late, on its own clock."""
    traces = []
    for worker in range(2):
        made = Made(worker)
        for step in range(steps):
            now = 1000 * step + worker * (5 + clock)
            launch = made.add("launch", now, now + 10, step=step)
            kernel = made.add("kernel", now + 20, now + 60 + step, lane="stream", kind=COMPUTE,
                              step=step, after=(launch,), layer="l1")  # fmt: skip
            made.add("reduce", now + 70, now + 90, lane="comm", kind=COLLECTIVE, step=step,
                     after=(kernel,), group=("dp", (0, 1)), sequence=step, size_bytes=64,
                     bucket=4, algorithm="ring")  # fmt: skip
        traces.append(made.trace())
    return traces


def test_steps_become_one_graph() -> None:
    found, _ = folded(two_workers(), range(3))
    assert [(op.worker, op.name) for op in found] == [
        (0, "launch"), (1, "launch"), (0, "kernel"), (1, "kernel"), (0, "reduce"), (1, "reduce")
    ]  # fmt: skip
    kernel, reduce = found.op(2), found.op(4)
    assert kernel.after == (0,)
    assert (kernel.layer, kernel.lane, kernel.phase.name) == ("l1", "stream", "OTHER")
    assert reduce.after == (2,)
    assert reduce.members == (4, 5)
    assert (reduce.group, reduce.size_bytes, reduce.bucket) == ("dp", 64, 0)
    assert found.buckets[0].size_bytes == 64
    assert found.works[found.work[4]].algorithm == "ring"


def test_peers_do_the_same_works() -> None:
    found, _ = folded(two_workers(), range(3))
    assert found.work[0::2].tolist() == found.work[1::2].tolist()
    assert len(found.works) == 3


def test_times_count_from_the_first_start_of_each_step_on_one_clock() -> None:
    _, found = folded(two_workers(clock=7_000), range(3), {1: -7_000})
    assert found.start_ns.tolist() == [
        [0, 0, 0], [5, 5, 5], [20, 20, 20], [25, 25, 25], [70, 70, 70], [75, 75, 75]
    ]  # fmt: skip
    assert found.end_ns[2].tolist() == [60, 61, 62]


def test_only_the_given_steps() -> None:
    _, found = folded(two_workers(), (2, 0))
    assert found.end_ns[2].tolist() == [60, 62]


def test_an_op_of_most_steps_stays_and_is_unknown_in_the_others() -> None:
    made = Made()
    for step in range(3):
        made.add("a", 100 * step, 100 * step + 10, step=step)
        if step != 1:
            made.add("sometimes", 100 * step + 10, 100 * step + 20, step=step)
        if step == 1:
            made.add("collect garbage", 100 * step + 10, 100 * step + 20, step=step)
        made.add("b", 100 * step + 20, 100 * step + 30, step=step)
    found, times = folded([made.trace()], range(3))
    assert [op.name for op in found] == ["a", "sometimes", "b"]
    assert times.start_ns.tolist() == [[0, 0, 0], [10, UNKNOWN, 10], [20, 20, 20]]
    assert [(note.code, note.worker, note.count) for note in times.notes] == [
        ("unlike-steps", 0, 1)
    ]


def test_steps_of_another_structure_are_told() -> None:
    made = Made()
    for step in range(3):
        for turn in range(300):
            name = f"op {turn}" if step else f"warm up {turn}"
            made.add(name, 10_000 * step + 10 * turn, 10_000 * step + 10 * turn + 5, step=step)
    _, times = folded([made.trace()], range(3))
    assert len(times) == 300
    assert "1 steps have another structure" in times.notes[0].text


def test_equal_works_are_counted_within_their_worker() -> None:
    made = Made()
    for at, lane in enumerate(("main", "main", "other", "main")):
        made.add("launch", 10 * at, 10 * at + 5, lane=lane)
    made.add("launch", 40, 45, lane="main", size_bytes=8)
    found, _ = folded([made.trace()], [0])
    counted = {(op.lane, int(op.id)): op.work.occurrence for op in found}
    assert counted == {
        ("main", 0): 0, ("main", 1): 1, ("other", 2): 3, ("main", 3): 2, ("main", 4): 0
    }  # fmt: skip


def test_the_size_is_the_most_frequent_one() -> None:
    made = Made()
    for step, size in enumerate((8, 16, 16, -1)):
        made.add("all_to_all", 100 * step, 100 * step + 50, lane="comm", kind=COLLECTIVE, step=step,
                 size_bytes=size)  # fmt: skip
    found, _ = folded([made.trace()], range(4))
    assert found.size_bytes.tolist() == [16]


def test_ids_follow_the_order_of_each_lane() -> None:
    """The late op of one step would come after its successor by its median alone."""
    made = Made()
    for step, late in enumerate((0, 500, 500)):
        if step != 1:
            made.add("a", 1000 * step + late, 1000 * step + late + 10, step=step)
        made.add("b", 1000 * step + 30 + (late if step == 2 else 0), 1000 * step + 540, step=step)
    found, _ = folded([made.trace()], range(3))
    assert [op.name for op in found] == ["a", "b"]


def test_a_message_meets_in_every_step() -> None:
    one, two = Made(0), Made(1)
    for step in range(3):
        one.add("act", 100 * step, 100 * step + 10, kind=SEND, lane="p2p", peer=1, step=step)
        two.add("act", 100 * step + 2, 100 * step + 15, kind=RECV, lane="p2p", peer=0, step=step)
    found, _ = folded([one.trace(), two.trace()], range(3))
    assert [op.members for op in found] == [(0, 1), (0, 1)]


def test_one_wrong_match_changes_nothing() -> None:
    one, two = Made(0), Made(1)
    for step in range(5):
        keys = (2 * step, 2 * step + 1)
        for made, sequences in ((one, keys), (two, keys[::-1] if step == 2 else keys)):
            for turn, sequence in enumerate(sequences):
                start = 100 * step + 20 * turn
                made.add("reduce", start, start + 10, kind=COLLECTIVE, lane="comm", step=step,
                         group=("dp", (0, 1)), sequence=sequence)  # fmt: skip
    found, _ = folded([one.trace(), two.trace()], range(5))
    assert [op.members for op in found] == [(0, 1), (0, 1), (2, 3), (2, 3)]


def test_links_of_half_of_the_steps_are_dependencies() -> None:
    made = Made()
    for step in range(4):
        first = made.add("a", 100 * step, 100 * step + 10, step=step)
        rare = (first,) if step == 0 else ()
        made.add("b", 100 * step + 20, 100 * step + 30, lane="gpu", step=step, after=rare)
        often = (first,) if step < 2 else ()
        made.add("c", 100 * step + 40, 100 * step + 50, lane="gpu", step=step, after=often)
        if step:
            made.add(
                "d", 100 * step + 60, 100 * step + 70, lane="gpu", step=step, after=(0, (7, 3))
            )
    found, _ = folded([made.trace()], range(4))
    assert [(op.name, op.after) for op in found] == [("a", ()), ("b", ()), ("c", (0,)), ("d", ())]


def test_a_link_to_another_worker_is_a_dependency() -> None:
    one, two = Made(0), Made(1)
    one.add("a", 0, 10)
    two.add("b", 20, 30, after=((0, 0), (0, 99)))
    found, _ = folded([one.trace(), two.trace()], [0])
    assert found.op(1).after == (0,)


def test_order_on_a_lane_is_no_dependency() -> None:
    made = Made()
    first = made.add("a", 0, 10)
    made.add("b", 20, 30, after=(first,))
    found, _ = folded([made.trace()], [0])
    assert found.op(1).after == ()


def test_hops_know_their_bucket_and_round() -> None:
    made = Made()
    for step in range(2):
        order = [(0, 0), (1, 0), (0, 1)] if step == 0 else [(0, 0), (0, 1), (1, 0)]
        for turn, (bucket, number) in enumerate(order):
            start = 100 * step + 20 * turn
            made.add("hop", start, start + 10, kind=SEND, lane="to 1", step=step, peer=1,
                     bucket=bucket, round=number, chunk=number, size_bytes=100)  # fmt: skip
    found, times = folded([made.trace()], range(2))
    assert [bucket.size_bytes for bucket in found.buckets] == [200, 100]
    assert (found.bucket == 1).sum() == 2  # it came before the other bucket's hop, and after it
    assert (times.start_ns[found.bucket == 1] == UNKNOWN).sum(axis=1).tolist() == [1, 1]
    assert (times.start_ns[found.bucket == 0] != UNKNOWN).all()


def test_no_piece_no_op() -> None:
    made = Made()
    made.add("a", 0, 10, step=5)
    found, times = folded([made.trace()], [1])
    assert len(found) == 0
    assert times.start_ns.shape == (0, 1)


@pytest.mark.parametrize(
    ("count", "most", "expected"), [(3, 5, [0, 1, 2]), (9, 3, [0, 4, 8]), (1, 4, [0])]
)
def test_evenly_chosen(count: int, most: int, expected: list[int]) -> None:
    assert evenly(count, most).tolist() == expected
    assert len(np.unique(evenly(1000, 256))) == 256
