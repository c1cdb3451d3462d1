"""collective: another algorithm, on a cluster and without one."""

import pytest
from small_jobs import Small, star

from paceline import rewrite
from paceline.model import Cluster, Edit, InputError, verify


def edited(small: Small, *texts: str, cluster: Cluster | None = None) -> rewrite.Rewritten:
    out = rewrite.edited(
        small.graph, small.times, [Edit.parse(text) for text in texts],
        profile=small.profile, cluster=cluster,
    )  # fmt: skip
    verify(out.graph)
    return out


def ring(workers: int, algorithm: str | None = None, machines: tuple[str, ...] | None = None):
    """All-reduces by a ring with 10 ns a message and 4 ns a byte over the slowest link."""
    small = Small(workers, machines)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in range(workers)}
    for size in (800, 8000):
        time = 2 * (workers - 1) * 10 + 2 * (workers - 1) / workers * size * 4
        small.reduce(f"s{size}", round(time), size, first, algorithm=algorithm)
    small.reduce("g", 77, 800, first, name="all_gather")
    return small


def taken(out: rewrite.Rewritten) -> list[int]:
    mine = (out.graph.kind == 4) & (out.graph.worker == 0)
    return out.times.duration_ns[mine].tolist()


@pytest.mark.parametrize(
    ("algorithm", "messages", "load"),
    [("tree", 6, 2), ("ps", 2, 14), ("forest", 2, 14 / 8), ("ring", 14, 14 / 8)],
)
def test_without_a_cluster_closed_forms_scale_the_times(
    algorithm: str, messages: float, load: float
):
    out = edited(ring(8), f"collective{{algorithm={algorithm}}}")
    expected = [messages * 10 + load * size * 4 for size in (800, 8000)]
    assert taken(out) == pytest.approx([*expected, 77], abs=1)
    works = {op.work.algorithm for op in out.graph if op.name == "all_reduce"}
    assert works == {algorithm}
    assert {op.work.algorithm for op in out.graph if op.name == "all_gather"} == {None}


def test_hierarchies_count_machines():
    small = ring(8, machines=tuple(f"m{at // 4}" for at in range(8)))
    out = edited(small, "collective{algorithm=hierarchical}")
    assert taken(out)[:2] == pytest.approx([4 * 10 + 1 * size * 4 for size in (800, 8000)], abs=1)
    flat = edited(ring(8), "collective{algorithm=hierarchical}")
    assert taken(flat) == taken(edited(ring(8), "collective{algorithm=ring}"))


def test_there_and_back_is_where_it_was():
    tree = edited(ring(8), "collective{algorithm=tree}")
    back = rewrite.edited(
        tree.graph, tree.times, [Edit.parse("collective{algorithm=ring}")],
        profile=ring(8).profile,
    )  # fmt: skip
    assert taken(back) == pytest.approx(taken(edited(ring(8))), abs=2)


def test_on_a_cluster_the_times_are_left_to_it():
    cluster = star([f"m{at}" for at in range(8)])
    out = edited(ring(8), "collective{algorithm=tree}", cluster=cluster)
    assert taken(out) == [-1, -1, 77]


def test_what_runs_this_algorithm_already_stays():
    small = ring(8, "tree")
    out = edited(small, "collective{algorithm=tree}", cluster=star([f"m{at}" for at in range(8)]))
    assert (out.graph, out.times) == (small.graph, small.times)


def test_all_reduces_that_become_equal_are_told_apart():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    for algorithm in ("ring", "tree", "ring"):
        for size in (100, 300):
            small.reduce(f"{algorithm}{size}{len(small.rows)}", 100 + size, size, first,
                         algorithm=algorithm)  # fmt: skip
    out = edited(small, "collective{algorithm=tree}")
    works = [op.work for op in out.graph if op.worker == 0 and op.kind == 4]
    assert len(set(works)) == len(works) == 6
    assert works == [op.work for op in out.graph if op.worker == 1 and op.kind == 4]


@pytest.mark.parametrize("size", [-1, 100])
def test_one_size_alone_is_all_bytes_and_no_size_tells_nothing(size: int):
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    small.reduce("a", 50, size, first)
    if size < 0:
        with pytest.raises(InputError, match="by size is not known") as caught:
            edited(small, "collective{algorithm=ps}")
        assert "Give a cluster file" in str(caught.value)
        return
    out = edited(small, "collective{algorithm=ps}")
    assert taken(out) == [100]  # a ring of two moves each byte once, its server both copies
    assert [note.code for note in out.notes] == ["no-latency"]


def test_a_job_without_all_reduce_is_refused():
    small = Small(2)
    small.group("dp")
    first = {w: small.add(w, "gpu", "compute", 60) for w in (0, 1)}
    small.reduce("a", 50, 100, first, name="all_gather")
    with pytest.raises(InputError, match="no all-reduce in this job"):
        edited(small, "collective{algorithm=tree}")
