"""The door: edits are checked, then applied in order; refusals say what was found and the cure."""

import numpy as np
import pytest
from small_jobs import Small, step_ns

from paceline import rewrite
from paceline.model import Edit, InputError, ModelError, PacelineError, Times, verify


def job() -> Small:
    """Two workers, forward, backward in two buckets, update."""
    small = Small(2)
    small.group("dp")
    last = {
        worker: small.add(worker, "gpu", "compute", 100, phase="forward", layer="net.0", lead=10)
        for worker in (0, 1)
    }
    done: list[dict[int, int]] = []
    for bucket, size in enumerate((1000, 4000)):
        last = {
            worker: small.add(worker, "gpu", "compute", 60, phase="backward", layer="net.1")
            for worker in (0, 1)
        }
        done.append(small.reduce(f"b{bucket}", 10 + size // 100, size, last))
    for worker in (0, 1):
        small.add(worker, "gpu", "compute", 20, *(one[worker] for one in done), phase="update")
    return small


def edited(small: Small, *texts: str, cluster=None) -> rewrite.Rewritten:
    edits = [Edit.parse(text) for text in texts]
    return rewrite.edited(small.graph, small.times, edits, profile=small.profile, cluster=cluster)


def test_no_edits_change_nothing():
    small = job()
    out = edited(small)
    assert out.graph == small.graph
    assert out.times == small.times
    assert out.origin.tolist() == list(range(len(small.graph)))
    assert out.machines == {0: "m0", 1: "m1"}


def test_edits_apply_in_the_order_given():
    small = job()
    slow_then_typical = edited(small, "speed{worker=0,factor=0.5}", "typical{}")
    typical_then_slow = edited(small, "typical{}", "speed{worker=0,factor=0.5}")
    assert slow_then_typical.times != typical_then_slow.times
    assert step_ns(typical_then_slow.graph, typical_then_slow.times) > step_ns(
        small.graph, small.times
    )


def test_the_same_edit_twice_composes():
    small = job()
    twice = edited(small, "speed{worker=0,factor=2}", "speed{worker=0,factor=2}")
    once = edited(small, "speed{worker=0,factor=4}")
    assert np.abs(twice.times.duration_ns - once.times.duration_ns).max() <= 1


REFUSED = {
    "sped{worker=1,factor=2}": ("'sped' is no edit", "'speed'"),
    "zzz{}": ("'zzz' is no edit", "Known: speed, typical"),
    "speed{woker=1,factor=2}": ("'woker' is no key of speed", "'worker'"),
    "no-communication{factor=2}": ("'factor' is not known", "takes no keys"),
    "speed{worker=1}": ("'factor' is missing", "a number above 0"),
    "fuse-buckets{}": ("'limit_bytes' is missing", "a size"),
    "collective{}": ("'algorithm' is missing", "a word"),
    "workers{}": ("'count' is missing", "a whole number"),
    "speed{worker=one,factor=2}": ("worker=one cannot be", "a worker's rank"),
    "speed{worker=1.0,factor=2}": ("worker=1.0 cannot be", "a worker's rank"),
    "speed{worker=-1,factor=2}": ("worker=-1 cannot be", "a worker's rank"),
    "speed{worker=true,factor=2}": ("worker=True cannot be", "a worker's rank"),
    "speed{worker=1,factor=fast}": ("factor=fast cannot be", "a number above 0"),
    "speed{worker=1,factor=true}": ("factor=True cannot be", "a number above 0"),
    "speed{worker=1,factor=0}": ("factor=0 cannot be", "a number above 0"),
    "speed{worker=1,factor=-2}": ("factor=-2 cannot be", "a number above 0"),
    "speed{worker=1,factor=1e-300}": ("more than a hundred years", "nearer to 1"),
    "speed{worker=1,factor=5e-324}": ("more than a hundred years", "nearer to 1"),
    "speed{factor=2}": ("says nothing of what", "needs worker="),
    "speed{kind=true,factor=2}": ("kind=True cannot be", "a word"),
    "speed{kind=comput,factor=2}": ("'comput' is no kind", "'compute'"),
    "speed{kind=load,factor=2}": ("there is no load op", "compute, collective"),
    "speed{worker=7,factor=2}": ("there is no worker 7", "workers 0, 1"),
    "speed{layer=net.2,factor=2}": ("there is no layer 'net.2'", "net.0, net.1"),
    "speed{layer=2,factor=2}": ("there is no layer '2'", "net.0, net.1"),
    "speed{layer=net.0,kind=collective,factor=2}": ("no op answers", "fewer"),
    "speed{link=m0-m7,factor=2}": ("there is no link 'm0-m7'", "m0, m1, 0, 1"),
    "speed{link=m0,factor=2}": ("there is no link 'm0'", "m0, m1"),
    "typical{worker=7}": ("there is no worker 7", "workers 0, 1"),
    "fuse-buckets{limit_bytes=0}": ("limit_bytes=0 cannot be", "1 or more"),
    "fuse-buckets{limit_bytes=true}": ("limit_bytes=True cannot be", "1 or more"),
    'fuse-buckets{limit_bytes="25 bananas"}': ("is not a size", "400MB"),
    "split-buckets{limit_bytes=-5}": ("is negative", "0 or more"),
    "collective{algorithm=rign}": ("'rign' is no algorithm", "'ring'"),
    "workers{count=0}": ("count=0 cannot be", "1 or more"),
    "workers{count=2.5}": ("count=2.5 cannot be", "1 or more"),
    "workers{count=1000000000}": ("makes too many ops", "fewer workers"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_wrong_edit_is_one_clear_error(text: str):
    found, cure = REFUSED[text]
    with pytest.raises(InputError) as caught:
        edited(job(), text)
    first, _, second = str(caught.value).partition("\n")
    assert found in first
    assert cure in str(caught.value)
    assert "\n" not in second


def test_every_edit_is_checked_before_one_is_applied():
    with pytest.raises(InputError, match="is no edit"):
        edited(job(), "speed{worker=7,factor=2}", "sped{}")


def test_hostile_text_in_an_edit_is_made_harmless():
    hostile = Edit("speed", (("worker", "\x1b[31m\u202e" * 9), ("factor", 2)))
    small = job()
    with pytest.raises(InputError) as caught:
        rewrite.edited(small.graph, small.times, [hostile], profile=small.profile)
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)


def test_a_monstrous_word_costs_nothing():
    small = job()
    for edit in (Edit("s" * 10**6), Edit("speed", (("k" * 10**6, 1),))):
        with pytest.raises(PacelineError) as caught:
            rewrite.edited(small.graph, small.times, [edit], profile=small.profile)
        assert len(str(caught.value)) < 2000


def test_times_of_another_graph_are_refused():
    small = job()
    short = Times(duration_ns=np.ones(3), lead_ns=np.ones(3))
    with pytest.raises(ModelError, match="3 times cannot be those of"):
        rewrite.edited(small.graph, short, [], profile=small.profile)


def test_every_edit_leaves_a_verified_graph():
    small = job()
    for text in (
        "speed{kind=compute,factor=3}", "speed{link=all,factor=3}", "typical{}",
        "no-communication{}", "perfect-overlap{}", "fuse-buckets{limit_bytes=10000}",
        "split-buckets{limit_bytes=700}", "collective{algorithm=tree}", "workers{count=5}",
        "workers{count=1}",
    ):  # fmt: skip
        out = edited(small, text)
        verify(out.graph)
        assert len(out.times) == len(out.graph)
        assert len(out.origin_from) == len(out.graph) + 1
        assert step_ns(out.graph, out.times) > 0


def test_origins_of_two_rewritings_lead_back_to_the_first_graph():
    small = job()
    first = edited(small, "fuse-buckets{limit_bytes=10000}")
    second = rewrite.edited(
        first.graph, first.times, [Edit.parse("split-buckets{limit_bytes=2500}")],
        profile=small.profile,
    )  # fmt: skip
    both = edited(small, "fuse-buckets{limit_bytes=10000}", "split-buckets{limit_bytes=2500}")
    behind = second.behind(first)
    assert behind.origin_from.tolist() == both.origin_from.tolist()
    assert behind.origin_op.tolist() == both.origin_op.tolist()
    parts = [op.id for op in both.graph if op.worker == 0 and op.name == "all_reduce"]
    assert [both.origins(op) for op in parts] == [(4, 8), (4, 8)]


def test_every_edit_says_what_its_keys_take():
    names = [module.NAME for module in rewrite.EDITS]
    assert len(set(names)) == len(names) == 9
    for module in rewrite.EDITS:
        assert module.SAYS.endswith(".")
        for key in module.KEYS:
            assert key.says
            assert isinstance(key.takes, rewrite.Takes)
