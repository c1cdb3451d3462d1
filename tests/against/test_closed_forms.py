"""Collectives on links unlike each other against the formulas of textbooks, steps against networkx.

The formulas and the graph of the longest path stand in bench/laws.py, which tries far more of them.
"""

import numpy as np
import pytest
from drawn_jobs import lane_jobs
from hypothesis import given
from small_jobs import Small

from laws import FORMS, formula, longest, simulated, uneven
from paceline import simulate
from paceline.reduce import ALL_REDUCE


@pytest.mark.parametrize("members", [2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", FORMS)
def test_all_reduces_take_what_textbooks_say(form: str, members: int, seed: int) -> None:
    cluster = uneven(members, seed)
    assert simulated(form, cluster) == pytest.approx(formula(form, cluster), rel=0.01)


@pytest.mark.parametrize("members", [2, 3, 4, 7, 8, 16])
def test_no_member_of_two_trees_has_many_neighbors(members: int) -> None:
    plan = ALL_REDUCE["tree"]([[at] for at in range(members)])
    leaving, coming = (np.bincount(ends, minlength=members) for ends in (plan.source, plan.target))
    assert (leaving == coming).all()
    assert leaving.max() <= 4  # a parent and two children in one tree, a parent in the other


@given(lane_jobs())
def test_steps_of_lanes_are_longest_paths(small: Small) -> None:
    """Every op is an edge from its start to its end; members of a meeting share two nodes."""
    if len(small.graph):
        line = simulate.timeline(small.graph, small.times)
        assert longest(small.graph, small.times) == int(line.end_ns.max())
