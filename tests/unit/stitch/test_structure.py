"""One sequence of ops from those of all steps."""

import numpy as np
import pytest

from paceline.stitch.sequence import aligned
from paceline.stitch.structure import shared


def row(text: str) -> np.ndarray:
    return np.array([ord(mark) for mark in text], dtype=np.int64)


def text(keys: np.ndarray) -> str:
    return "".join(chr(key) for key in keys)


@pytest.mark.parametrize(
    ("reference", "other", "places"),
    [
        ("abc", "abc", [0, 1, 2]),
        ("abc", "abxc", [0, 1, -1, 2]),
        ("abxc", "abc", [0, 1, 3]),
        ("abc", "", []),
        ("", "ab", [-1, -1]),
        ("abcabba", "cbabac", None),
        ("aaaa", "aa", None),
    ],
)
def test_the_longest_common_order(reference: str, other: str, places: list[int] | None) -> None:
    found = aligned(row(reference), row(other), 20)
    assert found is not None
    met = found[found >= 0]
    assert (np.diff(met) > 0).all()
    assert text(row(reference)[met]) == text(row(other)[found >= 0])
    if places is not None:
        assert found.tolist() == places
    if other == "cbabac":
        assert len(met) == 4


def test_too_many_differences_are_no_alignment() -> None:
    assert aligned(row("abcdef"), row("uvwxyz"), 11) is None
    assert aligned(row("abcdef"), row("uvwxyz"), 12) is not None


def test_equal_steps_are_their_structure() -> None:
    found = shared([row("abc")] * 3)
    assert text(found.keys) == "abc"
    assert [place.tolist() for place in found.places] == [[0, 1, 2]] * 3
    assert (found.left_out, found.foreign) == (0, 0)


def test_what_few_steps_hold_is_left_out() -> None:
    found = shared([row("abc"), row("abc"), row("abgc")])
    assert text(found.keys) == "abc"
    assert found.places[2].tolist() == [0, 1, -1, 2]
    assert found.left_out == 1


def test_what_most_steps_hold_stays_though_the_most_frequent_step_lacks_it() -> None:
    found = shared([row("ab"), row("ab"), row("axb"), row("axbu"), row("axbv")])
    assert text(found.keys) == "axb"
    assert [place.tolist() for place in found.places] == [
        [0, 2], [0, 2], [0, 1, 2], [0, 1, 2, -1], [0, 1, 2, -1]
    ]  # fmt: skip


def test_an_op_of_half_of_the_steps_stays() -> None:
    assert text(shared([row("ab"), row("abc")]).keys) == "abc"
    assert text(shared([row("ab"), row("cab")]).keys) == "cab"
    assert text(shared([row(""), row(""), row("a")]).keys) == ""


def test_a_step_of_another_kind_is_foreign() -> None:
    steps = [np.arange(300), np.arange(300), np.arange(1000, 1300)]
    found = shared([step.astype(np.int64) for step in steps])
    assert len(found.keys) == 300
    assert (found.places[2] == -1).all()
    assert (found.left_out, found.foreign) == (300, 1)


def test_rare_structures_do_not_grow_the_structure() -> None:
    common = [row("ab")] * 40
    rare = [np.array([97, 1000 + k, 98]) for k in range(39)]
    found = shared([*common, *rare])
    assert text(found.keys) == "ab"
    assert all(place.tolist() == [0, -1, 1] for place in found.places[40:])
