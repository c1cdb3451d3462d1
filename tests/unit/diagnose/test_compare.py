"""Comparisons see what changed, and nothing where nothing did."""

import pytest

from jobs import Shape, traces
from paceline import diagnose, stitch
from paceline.model import Comparison, InputError, ModelError, Profile

JOB = Shape(workers=3, steps=60, layers=4, buckets=2)


def run(seed: int, **changed: float) -> Profile:
    shape = Shape(workers=3, steps=60, layers=4, buckets=2, bucket_bytes=4_000_000, **changed)  # type: ignore[arg-type]
    return stitch.profile(traces(shape, seed=seed))


def test_the_same_run_does_not_differ_from_itself() -> None:
    one = run(1)
    found = diagnose.compared(one, one)
    assert not found.certain
    assert found.step.change == 0
    assert found.parts == ()


def test_slower_loading_is_found_and_named() -> None:
    # one seed, one job: kernels are the same in both, loading is not
    found = diagnose.compared(run(1), run(1, load_ms=5))
    assert found.certain
    assert found.step.after_ns - found.step.before_ns == pytest.approx(2e6, rel=0.25)
    assert {part.what.split(": ")[1] for part in found.parts} == {"load"}
    assert diagnose.regressed(found, "regression>2%")
    assert not diagnose.regressed(found, "regression>50%")


def test_different_jobs_are_refused() -> None:
    other = stitch.profile(traces(Shape(workers=3, steps=8, layers=20, buckets=2)))
    with pytest.raises(ModelError, match="share"):
        diagnose.compared(other, _renamed(run(1)))


def test_too_few_steps_are_refused() -> None:
    few = stitch.profile(traces(Shape(workers=3, steps=3, layers=4, buckets=2)))
    with pytest.raises(ModelError, match="says nothing"):
        diagnose.compared(few, few)


def test_a_gate_of_another_kind_is_refused() -> None:
    one = run(1)
    found: Comparison = diagnose.compared(one, one)
    with pytest.raises(InputError, match="regression>LIMIT"):
        diagnose.regressed(found, "straggler>5%")


def _renamed(profile: Profile) -> Profile:
    import dataclasses

    import msgspec

    works = tuple(
        msgspec.structs.replace(work, name=f"other {at}")
        for at, work in enumerate(profile.graph.works)
    )
    return dataclasses.replace(profile, graph=dataclasses.replace(profile.graph, works=works))
