"""Views of a graph: ops, what they wait for, whom they meet."""

import numpy as np

from paceline.model import Bucket, Graph, Group, Kind, Op, Phase, Work, cyclic_ops, verify

FORWARD = Work(name="fw", kind=Kind.COMPUTE, phase=Phase.FORWARD, layer="l1")
REDUCE = Work(name="ar", kind=Kind.COLLECTIVE, size_bytes=8)

# worker 3: op 0, then collective op 1; worker 7: collective op 2, then send op 3, never received
GRAPH = Graph(
    kind=np.array([0, 4, 4, 2], np.uint8),
    phase=np.array([0, 1, 1, 3], np.uint8),
    worker=np.array([3, 3, 7, 7], np.int32),
    lane=np.array([0, 1, 1, 1], np.int32),
    work=np.array([0, 1, 1, 1], np.int32),
    layer=np.array([0, -1, -1, -1], np.int32),
    bucket=np.array([-1, 0, 0, -1], np.int32),
    size_bytes=np.array([-1, 8, 8, 0], np.int64),
    match=np.array([-1, 0, 0, 2], np.int32),
    after_from=np.array([0, 0, 1, 1, 3], np.int64),
    after_op=np.array([0, 2, 1], np.int32),
    match_group=np.array([0, -1, -1], np.int32),
    workers=(3, 7),
    works=(FORWARD, REDUCE),
    lanes=("gpu", "comm"),
    layers=("l1",),
    buckets=(Bucket(size_bytes=8, tensors=("w", "b")),),
    groups=(Group(name="dp0", members=(3, 7)),),
)


def test_the_graph_is_valid():
    assert verify(GRAPH) is GRAPH
    assert len(GRAPH) == 4
    assert cyclic_ops(GRAPH).tolist() == []


def test_an_op_that_meets_nobody():
    assert GRAPH.op(0) == Op(
        id=0, name="fw", kind=Kind.COMPUTE, phase=Phase.FORWARD, worker=3, lane="gpu",
        work=FORWARD, layer="l1",
    )  # fmt: skip


def test_an_op_of_a_collective():
    assert GRAPH.op(2) == Op(
        id=2, name="ar", kind=Kind.COLLECTIVE, phase=Phase.BACKWARD, worker=7, lane="comm",
        work=REDUCE, bucket=0, size_bytes=8, group="dp0", members=(1, 2),
    )  # fmt: skip


def test_a_message_without_group_that_was_never_received():
    op = GRAPH.op(3)
    assert (op.group, op.members, op.after, op.size_bytes) == (None, (3,), (2, 1), 0)


def test_ops_come_in_order_of_their_ids():
    assert list(GRAPH) == [GRAPH.op(index) for index in range(4)]


def test_after_and_members():
    assert [GRAPH.after(index).tolist() for index in range(4)] == [[], [0], [], [2, 1]]
    assert [ops.tolist() for ops in GRAPH.members()] == [[1, 2], [], [3]]


def test_a_graph_without_matches_has_no_members():
    lone = Graph(
        kind=[0], phase=[0], worker=[0], lane=[0], work=[0], layer=[-1], bucket=[-1],
        size_bytes=[-1], match=[-1], after_from=[0, 0], after_op=[], match_group=[],
        workers=(0,), works=(FORWARD,), lanes=("gpu",),
    )  # fmt: skip
    assert lone.members() == ()
    assert next(iter(lone)).members == ()
