"""Laws of edits on random jobs: valid in, valid out; what is faster is never later."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from small_jobs import Small, profile, replayed, step_ns

from paceline import rewrite
from paceline.model import KINDS, Edit, Graph, Group, PacelineError, Times, verify
from paceline.rewrite import Takes

OWN = ("compute", "copy", "load", "host")
LANES = ("main", "gpu", "comm", "comm2")


@st.composite
def parallel(draw: st.DrawFn) -> Small:
    """Data-parallel, in pairs that share layers or not; times follow a law, lanes do not matter."""
    shares = draw(st.booleans())
    small = Small(4 if shares else draw(st.integers(2, 4)))
    pairs = (((0, 1), (2, 3)), ((0, 2), (1, 3))) if shares else ((), (small.ranks,))
    sharing, reducing = ([(small.group(str(p), *p), p) for p in some] for some in pairs)
    latency, rate = draw(st.integers(0, 50)), draw(st.sampled_from((0.1, 1, 3)))
    last = {w: small.add(w, "cpu", "load", draw(st.integers(1, 90))) for w in small.ranks}
    done: list[int] = []
    for at in range(draw(st.integers(1, 5))):
        layer = draw(st.sampled_from("ac"))
        for worker in small.ranks:
            last[worker] = small.add(
                worker, "gpu", "compute", draw(st.integers(1, 90)), last[worker],
                phase="backward", lead=draw(st.integers(0, 5)), layer=layer,
            )  # fmt: skip
        for group, members in sharing:
            met = small.reduce(f"{group}{at}", 9, 30, {w: last[w] for w in members}, group=group)
            last |= met
        size = draw(st.sampled_from((100, 200, 400, 1000)))
        lane = draw(st.sampled_from(LANES[2:]))
        for group, members in reducing:
            met = small.reduce(f"{group}{at}", round(latency + rate * size), size,
                               {w: last[w] for w in members}, group=group, lane=lane)  # fmt: skip
            done += met.values()
    for worker in small.ranks:
        mine = [op for op in done if small.rows[op]["worker"] == worker]
        small.add(worker, "gpu", "compute", 20, *mine, phase="update")
    return small


@st.composite
def anything(draw: st.DrawFn) -> Small:
    """Ops in an order in which they could run, so that nothing waits for itself."""
    workers = draw(st.integers(1, 4))
    small = Small(workers)
    small.group("all")
    pair = small.group("pair", 0, workers - 1) if workers > 1 else "all"
    ns, lead = st.integers(0, 900), st.integers(0, 40)
    for at in range(draw(st.integers(1, 14))):
        what = draw(st.sampled_from(("own", "own", "reduce", "reduce", "message", "gather")))
        last = len(small.rows)
        afters = st.lists(st.integers(0, last - 1), max_size=3) if last else st.just([])
        lanes = st.sampled_from(LANES)
        phase = draw(st.sampled_from(("forward", "backward", "backward", "update")))
        if what == "own":
            small.add(
                draw(st.integers(0, workers - 1)), draw(lanes), draw(st.sampled_from(OWN)),
                draw(ns), *draw(afters), lead=draw(lead), phase=phase,
                layer=draw(st.sampled_from((None, "a", "a.b", "c"))),
            )  # fmt: skip
        elif what == "message":
            size, time = draw(st.integers(-1, 500)), draw(ns)
            a, b = draw(st.integers(0, workers - 1)), draw(st.integers(0, workers - 1))
            for worker, kind in ((a, "send"), (b, "recv")):
                small.add(worker, draw(lanes), kind, time, *draw(afters), lead=draw(lead),
                          size=size, match=f"m{at}", phase=phase)  # fmt: skip
        else:
            group = draw(st.sampled_from(("all", pair)))
            size, time = draw(st.integers(-1, 500)), draw(ns)
            for worker in small.groups[group].members or ():
                small.add(worker, draw(lanes), "collective", time, *draw(afters), lead=draw(lead),
                          name="all_reduce" if what == "reduce" else "all_gather", size=size,
                          match=f"c{at}", group=group, phase=phase)  # fmt: skip
    return small


def jobs() -> st.SearchStrategy[Small]:
    """Jobs of any shape, and jobs as they are."""
    return parallel() | anything()


FASTER = st.sampled_from((1, 1.5, 2, 3, 100))
SPEEDS = st.one_of(
    st.builds("speed{{kind={},factor={}}}".format, st.sampled_from((*OWN, "collective")), FASTER),
    st.builds("speed{{worker={},factor={}}}".format, st.integers(0, 3), FASTER),
    st.builds("speed{{layer={},factor={}}}".format, st.sampled_from("ac"), FASTER),
    st.builds("speed{{link=all,factor={}}}".format, FASTER),
    st.builds("speed{{link={}-{},factor={}}}".format, st.integers(0, 1), st.integers(1, 3), FASTER),
)
SHAPES = st.one_of(
    st.just("no-communication{}"),
    st.just("perfect-overlap{}"),
    st.just("typical{}"),
    st.builds("typical{{worker={}}}".format, st.integers(0, 3)),
    st.builds("fuse-buckets{{limit_bytes={}}}".format, st.integers(1, 2000)),
    st.builds("split-buckets{{limit_bytes={}}}".format, st.integers(5, 500)),
    st.builds("workers{{count={}}}".format, st.integers(1, 6)),
    st.builds("accumulate{{steps={}}}".format, st.integers(1, 4)),
    st.builds(
        "collective{{algorithm={}}}".format, st.sampled_from(("ring", "tree", "ps", "forest"))
    ),
)
EDITS = st.one_of(SPEEDS, SHAPES)


def edited(graph: Graph, times: Times, texts: list[str], small: Small) -> rewrite.Rewritten:
    """The job edited, of which the example is thrown away where an edit does not suit it."""
    edits = [Edit.parse(text) for text in texts]
    own = profile(small.graph, small.machines, tuple(small.measured), small.times)
    try:
        return rewrite.edited(graph, times, edits, profile=own)
    except PacelineError:
        assume(False)
        raise


@given(jobs(), st.lists(EDITS, min_size=1, max_size=3))
def test_valid_in_valid_out(small: Small, texts: list[str]) -> None:
    out = edited(small.graph, small.times, texts, small)
    verify(out.graph)
    replayed(out.graph, out.times)
    assert len(out.times) == len(out.graph) == len(out.origin_from) - 1
    assert (out.times.duration_ns >= 0).all()
    assert (out.times.lead_ns >= 0).all()
    assert (out.origin >= 0).all()
    assert (out.origin_op < len(small.graph)).all()


@given(jobs(), st.lists(EDITS, min_size=1, max_size=3))
def test_every_op_stands_for_ops_of_its_worker_and_kind(small: Small, texts: list[str]) -> None:
    out = edited(small.graph, small.times, texts, small)
    rows = np.repeat(np.arange(len(out.graph)), np.diff(out.origin_from))
    assert (out.graph.kind[rows] == small.graph.kind[out.origin_op]).all()
    if not any(text.startswith("workers") for text in texts):
        assert set(out.origin_op.tolist()) == set(range(len(small.graph)))
        assert (out.graph.worker[rows] == small.graph.worker[out.origin_op]).all()


@given(jobs(), SPEEDS)
def test_faster_is_never_later(small: Small, text: str) -> None:
    out = edited(small.graph, small.times, [text], small)
    assert out.graph == small.graph
    before, behind = replayed(small.graph, small.times), replayed(out.graph, out.times)
    assert (behind.end_ns <= before.end_ns).all()
    assert behind.step_ns <= before.step_ns


@given(jobs(), SPEEDS, st.sampled_from((0.9, 0.5, 0.01)))
def test_slower_is_never_sooner(small: Small, text: str, factor: float) -> None:
    slower = text.rsplit("=", 1)[0] + f"={factor}}}"
    out = edited(small.graph, small.times, [slower], small)
    assert step_ns(out.graph, out.times) >= step_ns(small.graph, small.times)


@given(jobs(), st.sampled_from((
    "speed{kind=compute,factor=1}", "speed{link=all,factor=1}", "speed{worker=0,factor=1}",
    "fuse-buckets{limit_bytes=1}", "split-buckets{limit_bytes=1000000}",
)))  # fmt: skip
def test_edits_that_ask_for_nothing_change_nothing(small: Small, text: str) -> None:
    assume((small.graph.size_bytes != 0).all())  # any number of empty buckets fit into one
    out = edited(small.graph, small.times, [text], small)
    assert out.graph == small.graph
    assert out.times == small.times


@given(jobs())
def test_bounds_are_bounds(small: Small) -> None:
    """Perfect overlap is the longer of the step without communication and its busiest lane."""
    bare = edited(small.graph, small.times, ["no-communication{}"], small)
    overlap = edited(small.graph, small.times, ["perfect-overlap{}"], small)
    base = replayed(small.graph, small.times)
    talk = np.isin(overlap.graph.kind, (2, 3, 4))
    lanes = overlap.graph.worker[talk] * 100 + overlap.graph.lane[talk]
    busy = np.bincount(lanes, overlap.times.duration_ns[talk], minlength=1).max()
    first, last = int(base.start_ns.min()), replayed(bare.graph, bare.times).end_ns.max()
    assert step_ns(bare.graph, bare.times) <= base.step_ns
    assert step_ns(overlap.graph, overlap.times) <= base.step_ns
    assert replayed(overlap.graph, overlap.times).end_ns.max() == max(last, first + busy, first)


@given(jobs(), st.sampled_from(("no-communication{}", "perfect-overlap{}")))
def test_bounds_of_bounds_are_the_same(small: Small, text: str) -> None:
    once = edited(small.graph, small.times, [text], small)
    twice = edited(small.graph, small.times, [text, text], small)
    assert (once.graph, once.times) == (twice.graph, twice.times)


@given(jobs(), st.integers(1, 1500), st.booleans())
def test_buckets_keep_work_and_bytes(small: Small, limit: int, split: bool) -> None:
    name = "split-buckets" if split else "fuse-buckets"
    out = edited(small.graph, small.times, [f"{name}{{limit_bytes={limit}}}"], small)

    def sums(graph: Graph, times: Times) -> tuple[int, dict[tuple[int, int], int]]:
        totals: dict[tuple[int, int], int] = {}
        for op in graph:
            if op.kind == KINDS["collective"] and op.size_bytes is not None:
                key = (op.worker, list(small.groups).index(op.group or ""))
                totals[key] = totals.get(key, 0) + op.size_bytes
        return int(times.duration_ns[graph.kind != KINDS["collective"]].sum()), totals

    assert sums(out.graph, out.times) == sums(small.graph, small.times)
    for op in range(len(out.graph)):
        if len(out.origins(op)) > 1:
            assert out.graph.size_bytes[op] <= limit


@given(jobs(), EDITS, st.randoms())
def test_renumbering_workers_changes_nothing(small: Small, text: str, random) -> None:
    assume("worker" not in text and ("link" not in text or "all" in text))
    new = list(small.ranks)
    random.shuffle(new)
    other = Small(len(new))
    other.rows = [{**row, "worker": new[int(str(row["worker"]))]} for row in small.rows]
    other.groups = {
        name: Group(name=name, members=tuple(new[rank] for rank in group.members or ()))
        for name, group in small.groups.items()
    }
    other.match_group, other.matches = small.match_group, small.matches
    other.machines = tuple(small.machines[new.index(rank)] for rank in other.ranks)
    mine = edited(small.graph, small.times, [text], small)
    theirs = edited(other.graph, other.times, [text], other)
    assert step_ns(mine.graph, mine.times) == step_ns(theirs.graph, theirs.times)


@given(jobs(), EDITS, EDITS)
def test_one_after_the_other_is_both_at_once(small: Small, one: str, other: str) -> None:
    both = edited(small.graph, small.times, [one, other], small)
    first = edited(small.graph, small.times, [one], small)
    second = edited(first.graph, first.times, [other], small).behind(first)
    assert both.graph == second.graph
    assert both.origin_from.tolist() == second.origin_from.tolist()
    assert both.origin_op.tolist() == second.origin_op.tolist()


@given(jobs(), st.integers(1, 3))
def test_typical_of_a_job_whose_steps_are_equal_is_the_job(small: Small, steps: int) -> None:
    """Steps that the replay made: own work and leads are read off them as they were put in."""
    assume(len(set(small.ranks)) > 1)
    rows = [{**row, "ns": len(str(row["name"])) * 10, "lead": 3} for row in small.rows]
    small.rows = rows
    line = replayed(small.graph, small.times)
    small.measured = [line] * steps
    out = edited(small.graph, small.times, ["typical{}"], small)
    assert out.times == small.times


@st.composite
def written(draw: st.DrawFn) -> Edit:
    """Any edit that the keys of the room allow."""
    module = draw(st.sampled_from(rewrite.EDITS))
    values = {
        Takes.WORKER: st.integers(0, 10**6),
        Takes.COUNT: st.integers(1, 10**6),
        Takes.FACTOR: st.floats(1e-6, 1e6) | st.integers(1, 10**6),
        Takes.SIZE: st.integers(1, 10**12) | st.just("25MiB"),
        Takes.WORD: st.text(min_size=1, max_size=9),
    }
    keys = [key for key in module.KEYS if key.required or draw(st.booleans())]
    arguments = [
        (key.name, draw(st.sampled_from(key.one_of) if key.one_of else values[key.takes]))
        for key in keys
    ]
    return Edit(module.NAME, tuple(arguments))


@given(written())
def test_what_is_written_is_read(edit: Edit) -> None:
    assert Edit.parse(str(edit)) == edit


@given(jobs(), st.lists(written(), min_size=1, max_size=3))
def test_every_edit_ends_in_a_job_or_one_of_our_errors(small: Small, edits: list[Edit]) -> None:
    try:
        out = rewrite.edited(small.graph, small.times, edits, profile=small.profile)
    except PacelineError:
        return
    verify(out.graph)
