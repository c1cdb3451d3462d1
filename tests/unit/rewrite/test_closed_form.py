"""The closed forms, at numbers that can be checked in the head."""

import pytest

from paceline.model import OPERATIONS
from paceline.rewrite.closed_form import ALGORITHMS, terms


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("ring", (6, 1.5)),
        (None, (6, 1.5)),
        ("no such", (6, 1.5)),
        ("tree", (4, 2)),
        ("ps", (2, 6)),
        ("forest", (4, 1.5)),
        ("hierarchical", (4, 1)),
    ],
)
def test_all_reduce_of_four_on_two_machines(algorithm, expected):
    assert terms(0, algorithm, 4, 2) == expected


def test_small_and_flat_cases():
    assert terms(0, "tree", 2, 2) == (2, 1)
    assert terms(0, "forest", 4, 4) == (2, 1.5)


def test_other_operations_of_four():
    got = {name: terms(at, None, 4, 4) for at, name in enumerate(OPERATIONS)}
    assert got == {
        "all_reduce": (6, 1.5), "reduce_scatter": (3, 0.75), "all_gather": (3, 0.75),
        "all_to_all": (1, 0.75), "broadcast": (3, 1), "barrier": (6, 0), "gather": (1, 0.75),
        "scatter": (1, 0.75), "reduce": (3, 1),
    }  # fmt: skip


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_member_alone_sends_nothing(algorithm: str):
    assert terms(0, algorithm, 1, 1) == (0, 0)


def test_a_hierarchy_of_one_level_is_a_ring():
    assert (
        terms(0, "hierarchical", 4, 4) == terms(0, "hierarchical", 4, 1) == terms(0, "ring", 4, 4)
    )
