"""fuse-buckets and split-buckets: what meets, what waits, what it takes."""

import numpy as np
import pytest
from small_jobs import Small, replayed, star, step_ns

from paceline import rewrite
from paceline.model import Bucket, Cluster, Edit, InputError, verify


def edited(small: Small, *texts: str, cluster: Cluster | None = None) -> rewrite.Rewritten:
    out = rewrite.edited(
        small.graph, small.times, [Edit.parse(text) for text in texts],
        profile=small.profile, cluster=cluster,
    )  # fmt: skip
    verify(out.graph)
    return out


def ns(size: int) -> int:
    """The law of these tests: 100 ns and 1 ns a byte."""
    return 100 + size


def ddp(*sizes: int, workers: int = 2, lanes: tuple[str, ...] = ("comm",)) -> Small:
    """Backward in as many parts as buckets, then an update that waits for all."""
    small = Small(workers)
    small.group("dp")
    done: list[dict[int, int]] = []
    for at, size in enumerate(sizes):
        small.buckets.append(Bucket(size_bytes=size, tensors=(f"t{at}",)))
        last = {w: small.add(w, "gpu", "compute", 60, phase="backward") for w in range(workers)}
        lane = lanes[at % len(lanes)]
        done.append(
            small.reduce(f"b{at}", ns(size), size, last, lane=lane, bucket=at, layer=f"l{at // 2}")
        )
    for worker in range(workers):
        small.add(worker, "gpu", "compute", 20, *(d[worker] for d in done), phase="update")
    return small


def reduces(out: rewrite.Rewritten, worker: int = 0) -> list[int]:
    mine = (out.graph.kind == 4) & (out.graph.worker == worker)
    return np.flatnonzero(mine).tolist()


def sizes(out: rewrite.Rewritten, worker: int = 0) -> list[int]:
    return out.graph.size_bytes[reduces(out, worker)].tolist()


def taken(out: rewrite.Rewritten, worker: int = 0) -> list[int]:
    return out.times.duration_ns[reduces(out, worker)].tolist()


def test_neighbors_become_one_up_to_the_limit():
    out = edited(ddp(100, 200, 300, 400), "fuse-buckets{limit_bytes=600}")
    assert sizes(out) == sizes(out, 1) == [600, 400]
    assert taken(out) == [ns(600), ns(400)]


def test_the_whole_waits_for_all_and_all_wait_for_the_whole():
    small = ddp(100, 200)
    out = edited(small, "fuse-buckets{limit_bytes=300}")
    whole = reduces(out)[0]
    assert [out.graph.op(at).name for at in out.graph.after(whole)] == ["compute", "compute"]
    assert out.origins(whole) == (2, 6)
    update = [op for op in out.graph if op.worker == 0][-1]
    assert update.after == (whole,)
    line = replayed(out.graph, out.times)
    assert line.start_ns[whole] == 120
    assert line.end_ns[whole] == 120 + ns(300)


def test_the_whole_has_work_bucket_and_layer_of_its_parts():
    out = edited(ddp(100, 200, 300, 500), "fuse-buckets{limit_bytes=800}")
    first, second = (out.graph.op(at) for at in reduces(out))
    assert first.work.size_bytes == first.size_bytes == 600
    assert first.work.layer is first.layer is None  # of two layers
    assert out.graph.buckets[first.bucket or 0] == Bucket(
        size_bytes=600, tensors=("t0", "t1", "t2")
    )
    assert second.bucket == 3
    assert second.layer == "l1"
    one = edited(ddp(100, 200, 900), "fuse-buckets{limit_bytes=300}")
    assert one.graph.op(reduces(one)[0]).layer == "l0"
    assert out.graph.works[: len(ddp(100, 200, 300, 500).graph.works)] == (
        ddp(100, 200, 300, 500).graph.works
    )


def test_equal_wholes_are_told_apart_and_equal_on_peers():
    small = ddp(100, 200, 100, 200)
    for row in small.rows:
        row["layer"] = None
    out = edited(small, "fuse-buckets{limit_bytes=300}")
    mine, theirs = ([out.graph.op(at).work for at in reduces(out, w)] for w in (0, 1))
    assert mine == theirs
    assert len(set(mine)) == 2
    assert [work.occurrence for work in mine] == [0, 1]


def test_a_limit_that_nothing_fits_changes_nothing():
    small = ddp(100, 200)
    for limit in (1, 299):
        out = edited(small, f"fuse-buckets{{limit_bytes={limit}}}")
        assert (out.graph, out.times) == (small.graph, small.times)


def test_the_lanes_of_gloo_do_not_matter():
    """Two threads take the all-reduces of one group in turn."""
    out = edited(ddp(100, 200, 300, 400, lanes=("t0", "t1")), "fuse-buckets{limit_bytes=600}")
    assert sizes(out) == sizes(out, 1) == [600, 400]


def test_what_needs_the_first_result_stays_apart():
    """An all-reduce within backward, as when workers share layers."""
    small = Small(2)
    small.group("tp")
    last = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    for at, size in enumerate((100, 300)):
        meet = small.reduce(f"b{at}", ns(size), size, last, group="tp")
        last = {w: small.add(w, "gpu", "compute", 60, meet[w]) for w in (0, 1)}
    out = edited(small, "fuse-buckets{limit_bytes=9999}")
    assert out.graph == small.graph


def test_gradients_are_fused_around_such_exchanges():
    """Four workers, pairs share layers, the others of each pair reduce gradients."""
    small = Small(4)
    pairs = {small.group("tp0", 0, 1): (0, 1), small.group("tp1", 2, 3): (2, 3),
             small.group("dp0", 0, 2): (0, 2), small.group("dp1", 1, 3): (1, 3)}  # fmt: skip
    last = {w: small.add(w, "gpu", "compute", 60, phase="backward") for w in range(4)}
    for at, size in enumerate((100, 200, 400)):
        for group, members in pairs.items():
            some = {w: last[w] for w in members}
            met = small.reduce(f"{group} {at}", ns(size), size, some, group=group, lane=group[:2])
            if group.startswith("tp"):
                for worker in members:
                    after = met[worker]
                    last[worker] = small.add(worker, "gpu", "compute", 60, after, phase="backward")
    out = edited(small, "fuse-buckets{limit_bytes=9999}")
    by_group: dict[str, list[int]] = {}
    for op in out.graph:
        if op.kind == 4:
            by_group.setdefault(f"{op.group} of {op.worker}", []).append(op.size_bytes or 0)
    assert by_group["tp0 of 0"] == by_group["tp1 of 3"] == [100, 200, 400]
    assert by_group["dp0 of 0"] == by_group["dp1 of 3"] == [700]


def test_two_groups_that_wait_for_each_other_are_never_tied_into_a_knot():
    """Fusing either pair is fine, fusing both is a cycle."""
    small = Small(2)
    small.group("a")
    small.group("b")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    a0 = small.reduce("a0", ns(100), 100, first, group="a", lane="a")
    b0 = small.reduce("b0", ns(100), 100, first, group="b", lane="b")
    for_b = {w: small.add(w, "gpu", "compute", 60, a0[w]) for w in (0, 1)}
    for_a = {w: small.add(w, "cpu", "host", 60, b0[w]) for w in (0, 1)}
    small.reduce("b1", ns(300), 300, for_b, group="b", lane="b")
    small.reduce("a1", ns(300), 300, for_a, group="a", lane="a")
    out = edited(small, "fuse-buckets{limit_bytes=9999}")  # edited verifies: no op waits for itself
    assert sorted(sizes(out)) == [100, 300, 400]


def test_traces_that_name_no_groups_go_by_members():
    small = Small(4)
    first = {w: small.add(w, "gpu", "compute", 60) for w in range(4)}
    for at, (size, members) in enumerate(
        [(100, (0, 1)), (100, (2, 3)), (300, (0, 1)), (300, (2, 3)), (500, (0, 1, 2, 3))]
    ):
        for worker in members:
            small.add(worker, "comm", "collective", ns(size), first[worker], match=f"c{at}",
                      size=size, name="all_reduce")  # fmt: skip
    out = edited(small, "fuse-buckets{limit_bytes=9999}")
    assert [sizes(out, worker) for worker in range(4)] == [[400, 500]] * 4
    assert taken(out) == [ns(400), ns(500)]
    split = edited(small, "split-buckets{limit_bytes=250}")
    assert sizes(split, 3) == [100, 150, 150, 250, 250]


def test_members_that_disagree_on_the_order_keep_their_buckets():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    order = (("x", 100), ("y", 200)), (("y", 200), ("x", 100))
    for worker, mine in enumerate(order):
        for match, size in mine:
            small.add(worker, match, "collective", ns(size), first[worker], match=match,
                      group="dp", size=size, name="all_reduce")  # fmt: skip
    assert sizes(edited(small, "fuse-buckets{limit_bytes=999}")) == [100, 200]


def test_forward_and_other_operations_are_left_alone():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    small.reduce("f0", ns(100), 100, first, phase="forward")
    small.reduce("f1", ns(100), 100, first, phase="forward")
    small.reduce("g0", ns(100), 100, first, name="ncclDevKernel_AllGather_RING_LL")
    small.reduce("g1", ns(100), 100, first, name="ncclDevKernel_AllGather_RING_LL")
    small.reduce("r0", ns(100), 100, first, name="grads 0")
    small.reduce("r1", ns(200), 200, first, name="gloo:all_reduce")
    out = edited(small, "fuse-buckets{limit_bytes=999}")
    assert sizes(out) == [100, 100, 100, 100, 300]


def test_a_split_bucket_runs_in_parts_one_after_the_other():
    small = ddp(300, 1000)
    out = edited(small, "split-buckets{limit_bytes=400}")
    assert sizes(out) == sizes(out, 1) == [300, 334, 333, 333]
    assert taken(out) == [ns(300), ns(334), ns(333), ns(333)]
    parts = reduces(out)[1:]
    assert all(
        out.graph.after(part).tolist() == out.graph.after(parts[0]).tolist() for part in parts
    )
    assert [out.origins(part) for part in parts] == [(6,)] * 3
    update = [op for op in out.graph if op.worker == 0][-1]
    assert update.after == (reduces(out)[0], parts[-1])
    line = replayed(out.graph, out.times)
    assert line.start_ns[parts[0]] == 60 + ns(300)  # behind the first bucket
    assert line.start_ns[parts[1]] == line.end_ns[parts[0]]
    assert len({out.graph.op(part).members for part in parts}) == 3
    assert all(len(out.graph.op(part).members) == 2 for part in parts)
    assert len({out.graph.op(part).work for part in parts}) == 3
    assert {out.graph.op(part).bucket for part in parts} == {1}


def test_only_the_first_part_has_the_lead():
    small = ddp(300, 1000)
    for row in small.rows:
        row["lead"] = 9
    out = edited(small, "split-buckets{limit_bytes=500}")
    assert out.times.lead_ns[reduces(out)].tolist() == [9, 9, 0]


def test_a_limit_above_all_splits_nothing():
    small = ddp(100, 200)
    out = edited(small, "split-buckets{limit_bytes=200}")
    assert (out.graph, out.times) == (small.graph, small.times)


def test_fusing_and_splitting_again_gives_equal_parts():
    out = edited(ddp(100, 300), "fuse-buckets{limit_bytes=400}", "split-buckets{limit_bytes=200}")
    assert sizes(out) == [200, 200]
    assert taken(out) == [ns(200), ns(200)]
    back = edited(ddp(100, 300), "split-buckets{limit_bytes=100}", "fuse-buckets{limit_bytes=400}")
    assert sizes(back) == [400]
    assert taken(back) == [ns(400)]
    assert back.origins(reduces(back)[0]) == (2, 6)


def test_sizes_may_be_written_with_units():
    out = edited(ddp(100, 300), 'fuse-buckets{limit_bytes="0.4kB"}')
    assert sizes(out) == [400]


def test_too_many_parts_are_refused():
    small = ddp(10**9, 2 * 10**9)
    with pytest.raises(InputError, match=r"makes \d+ ops") as caught:
        edited(small, "split-buckets{limit_bytes=10}")
    assert "larger limit" in str(caught.value)


def test_times_that_follow_from_links_go_on_doing_so():
    out = edited(
        ddp(100, 200, 900), "collective{algorithm=tree}", "fuse-buckets{limit_bytes=300}",
        "split-buckets{limit_bytes=450}", cluster=star(("m0", "m1")),
    )  # fmt: skip
    assert sizes(out) == [300, 450, 450]
    assert taken(out) == [-1, -1, -1]


def test_one_size_alone_counts_all_time_as_bytes_and_says_so():
    fused = edited(ddp(100, 100), "fuse-buckets{limit_bytes=999}")
    assert taken(fused) == [2 * ns(100)]
    split = edited(ddp(100, 100), "split-buckets{limit_bytes=50}")
    assert taken(split) == [ns(100) // 2] * 4
    for out in (fused, split):
        assert [note.code for note in out.notes] == ["no-latency"]


def test_the_cluster_tells_the_law_that_one_size_does_not():
    """A ring of two: 2 messages of 2 x 50 ns, and 1 byte each way per byte at 1 ns: 200 + size."""
    out = edited(
        ddp(100, 100), "fuse-buckets{limit_bytes=200}", cluster=star(("m0", "m1"), latency_ns=50)
    )
    assert taken(out) == [round(2 * ns(100) * (200 + 200) / (2 * (200 + 100)))]


def test_where_the_cluster_does_not_tell_either_the_time_is_left_to_it():
    out = edited(ddp(100, 100), "fuse-buckets{limit_bytes=200}", cluster=Cluster())
    assert taken(out) == [-1]


@pytest.mark.parametrize("text", ["fuse-buckets{limit_bytes=9}", "split-buckets{limit_bytes=9}"])
def test_jobs_without_such_all_reduces_are_refused(text: str):
    alone = Small(1)
    alone.add(0, "gpu", "compute", 10)
    with pytest.raises(InputError, match="no all-reduce of gradients"):
        edited(alone, text)
    hops = Small(2)
    hops.add(0, "p2p", "send", 10, match="m")
    hops.add(1, "p2p", "recv", 10, match="m")
    with pytest.raises(InputError, match="message by message"):
        edited(hops, text)
    unsized = Small(2)
    unsized.group("dp")
    first = {w: unsized.add(w, "gpu", "compute", 60) for w in (0, 1)}
    unsized.reduce("a", 10, -1, first)
    with pytest.raises(InputError, match="sizes of its all-reduces are not known"):
        edited(unsized, text)


def test_where_size_does_not_matter_fusing_saves_all_but_one():
    small = ddp(100, 300)
    for row in small.rows:
        row["ns"] = 70
    out = edited(small, "fuse-buckets{limit_bytes=400}")
    assert taken(out) == [70]
    assert [(note.code, note.count) for note in out.notes] == [("flat-law", 1)]


def test_fusing_pays_when_latency_is_what_costs():
    many = ddp(*[10] * 8, 40)
    out = edited(many, "fuse-buckets{limit_bytes=120}")
    assert step_ns(out.graph, out.times) < step_ns(many.graph, many.times)
