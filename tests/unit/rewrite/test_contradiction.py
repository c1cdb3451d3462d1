"""Edits that cannot be meant together are one clear ModelError."""

import pytest
from small_jobs import Small

from paceline import rewrite
from paceline.model import Edit, ModelError


def edited(*texts: str) -> rewrite.Rewritten:
    small = Small(4)
    small.group("dp")
    first = {worker: small.add(worker, "gpu", "compute", 60) for worker in range(4)}
    small.reduce("a", 20, 1000, first)
    small.reduce("b", 50, 4000, first)
    return rewrite.edited(
        small.graph, small.times, [Edit.parse(text) for text in texts], profile=small.profile
    )


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("workers{count=2}", "workers{count=3}", "one count"),
        ("collective{algorithm=ring}", "collective{algorithm=ps}", "one algorithm"),
        ("speed{worker=3,factor=2}", "workers{count=3}", "removes worker 3"),
        ("workers{count=3}", "speed{worker=3,factor=2}", "removes worker 3"),
        ("typical{worker=2}", "workers{count=2}", "removes worker 2"),
        ("no-communication{}", "fuse-buckets{limit_bytes=9}", "no communication to change"),
        ("no-communication{}", "speed{link=all,factor=2}", "no communication to change"),
        ("perfect-overlap{}", "collective{algorithm=ps}", "no communication to change"),
        ("perfect-overlap{}", "workers{count=2}", "no communication to change"),
    ],
)
def test_contradictions_are_refused(one: str, other: str, why: str):
    with pytest.raises(ModelError, match=why) as caught:
        edited(one, other)
    assert one in str(caught.value)
    assert other in str(caught.value)


@pytest.mark.parametrize(
    "texts",
    [
        ("workers{count=3}", "workers{count=3}"),
        ("collective{algorithm=tree}", "collective{algorithm=tree}"),
        ("speed{worker=3,factor=2}", "speed{worker=3,factor=3}"),
        ("speed{worker=2,factor=2}", "workers{count=3}"),
        ("workers{count=6}", "speed{worker=5,factor=2}"),
        ("fuse-buckets{limit_bytes=9000}", "split-buckets{limit_bytes=2000}"),
        ("split-buckets{limit_bytes=2000}", "fuse-buckets{limit_bytes=9000}"),
        ("fuse-buckets{limit_bytes=9000}", "no-communication{}"),
        ("no-communication{}", "perfect-overlap{}"),
        ("perfect-overlap{}", "no-communication{}"),
        ("no-communication{}", "speed{kind=compute,factor=2}"),
    ],
)
def test_composition_is_no_contradiction(texts: tuple[str, ...]):
    assert len(edited(*texts).graph)
