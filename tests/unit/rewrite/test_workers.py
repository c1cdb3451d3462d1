"""workers: fewer, more, one; and the jobs that cannot be played so."""

import pytest
from small_jobs import Small, star, step_ns

from paceline import rewrite
from paceline.model import Cluster, Edit, InputError, Machine, verify


def edited(small: Small, *texts: str, cluster: Cluster | None = None) -> rewrite.Rewritten:
    out = rewrite.edited(
        small.graph, small.times, [Edit.parse(text) for text in texts],
        profile=small.profile, cluster=cluster,
    )  # fmt: skip
    verify(out.graph)
    return out


def ring_ns(workers: int, size: int) -> int:
    return round(2 * (workers - 1) * 10 + 2 * (workers - 1) / workers * size * 4)


def ddp(workers: int, **rest: object) -> Small:
    """Data-parallel: rank 2 is slow, so that rank 1 or 0 is typical."""
    small = Small(workers)
    small.group("dp")
    last: dict[int, int] = {}
    for worker in range(workers):
        launch = small.add(worker, "cpu", "host", 5)
        last[worker] = small.add(worker, "gpu", "compute", 500 if worker == 2 else 60 + worker,
                                 launch)  # fmt: skip
    done = [
        small.reduce(f"s{size}", ring_ns(workers, size), size, last, **rest) for size in (800, 8000)
    ]
    for worker in range(workers):
        small.add(worker, "gpu", "compute", 20, *(one[worker] for one in done), phase="update")
    return small


def taken(out: rewrite.Rewritten) -> list[int]:
    mine = (out.graph.kind == 4) & (out.graph.worker == 0)
    return out.times.duration_ns[mine].tolist()


@pytest.mark.parametrize("count", [2, 3, 7, 12])
def test_collectives_take_what_they_take_among_so_many(count: int):
    out = edited(ddp(4), f"workers{{count={count}}}")
    assert out.graph.workers == tuple(range(count))
    assert out.graph.groups[0].members == tuple(range(count))
    assert taken(out) == pytest.approx([ring_ns(count, size) for size in (800, 8000)], abs=1)
    assert all(len(op.members) == count for op in out.graph if op.kind == 4)
    assert len(out.graph) == len(ddp(count).graph)


def test_the_highest_ranks_go():
    out = edited(ddp(4), "workers{count=2}")
    assert set(out.graph.worker.tolist()) == {0, 1}
    assert out.machines == {0: "m0", 1: "m1"}
    assert [op.name for op in out.graph] == [op.name for op in ddp(2).graph]


def test_new_workers_are_like_the_typical_one():
    out = edited(ddp(4), "workers{count=5}")
    fresh = [op for op in out.graph if op.worker == 4]
    assert [out.times.duration_ns[op.id] for op in fresh][:2] == [5, 61]
    assert [out.origins(op.id) for op in fresh][:2] == [(2,), (3,)]
    assert fresh[1].after == (fresh[0].id,)
    assert step_ns(out.graph, out.times) > step_ns(ddp(4).graph, ddp(4).times)


def test_one_worker_does_not_communicate():
    out = edited(ddp(4), "workers{count=1}")
    assert [op.name for op in out.graph] == ["host", "compute", "compute"]
    assert out.graph.after(2).tolist() == [1]
    assert step_ns(out.graph, out.times) == 5 + 60 + 20


def test_as_many_as_there_are_changes_nothing():
    small = ddp(4)
    out = edited(small, "workers{count=4}")
    assert (out.graph, out.times) == (small.graph, small.times)


def test_there_and_back_takes_what_it_took():
    more = edited(ddp(4), "workers{count=9}")
    back = rewrite.edited(
        more.graph, more.times, [Edit.parse("workers{count=4}")], profile=ddp(4).profile
    )
    assert back.times.duration_ns.tolist() == pytest.approx(
        ddp(4).times.duration_ns.tolist(), abs=2
    )


def test_new_workers_go_where_the_cluster_has_room():
    cluster = Cluster(
        machines=(Machine(name="m0", slots=3), *(Machine(name=f"m{at}") for at in range(1, 4)))
    )
    out = edited(ddp(4), "workers{count=7}", cluster=cluster)
    assert out.machines == {0: "m0", 1: "m1", 2: "m2", 3: "m3", 4: "m0", 5: "m0"}


def test_other_groups_keep_their_members():
    small = ddp(4)
    small.group("idle", 0, 1)
    out = edited(small, "workers{count=5}")
    assert out.graph.groups[1].members == (0, 1)
    assert edited(small, "workers{count=2}").graph.groups[1].members == (0, 1)


def refused(small: Small, why: str, text: str = "workers{count=3}") -> None:
    with pytest.raises(InputError, match="not known to be data-parallel") as caught:
        edited(small, text)
    assert why in str(caught.value)


def test_other_jobs_are_refused():
    pipeline = ddp(4)
    pipeline.add(0, "p2p", "send", 5, match="m")
    pipeline.add(1, "p2p", "recv", 5, match="m")
    refused(pipeline, "as in a pipeline")

    part = ddp(4)
    part.group("tp", 0, 1)
    part.reduce("t", 5, 8, {0: 0, 1: 2}, group="tp")
    refused(part, "group 'tp' has 2 of its 4 workers")

    nameless = ddp(4)
    for worker in (0, 1):
        nameless.add(worker, "comm", "collective", 5, match="x")
    refused(nameless, "a collective has 2 of its 4 workers")

    experts = ddp(4, name="all_to_all")
    refused(experts, "different parts of the model")
    refused(ddp(4, phase="forward"), "share layers")

    alone = Small(1)
    alone.add(0, "gpu", "compute", 5)
    refused(alone, "nothing shows how its workers would exchange gradients")

    uneven = ddp(4)
    uneven.add(3, "gpu", "compute", 5, name="more")
    refused(uneven, "workers 0 and 3 do not compute the same ('more')")
    oftener = ddp(4)
    for worker in (0, 1, 2, 3, 3):
        oftener.add(worker, "gpu", "compute", 5, name="more")
    refused(oftener, "workers 0 and 3 do not compute the same ('more')")


def test_one_size_alone_is_all_bytes_with_a_note_and_without_one_on_a_cluster():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    small.reduce("a", 1000, 1000, first)
    alone = edited(small, "workers{count=4}")
    assert taken(alone) == [1500]
    assert [note.code for note in alone.notes] == ["no-latency"]
    out = edited(
        small, "workers{count=4}", cluster=star([f"m{at}" for at in range(4)], latency_ns=0)
    )
    assert taken(out) == [1500]  # 2 (n - 1) / n from 1 to 1.5
    assert out.notes == ()
