"""The formulas by which edits scale collectives, against the simulation of the same algorithms."""

import numpy as np
import pytest
from small_jobs import Small, star

from paceline import simulate
from paceline.model import Times
from paceline.rewrite.closed_form import ALGORITHMS, terms

LATENCY_NS, LINKS = 1000, 2  # every way in a star has two links


def simulated(algorithm: str, members: int, size: int) -> int:
    """One all-reduce around a switch, at 1 ns a byte."""
    small = Small(members)
    small.group("dp")
    first = {worker: small.add(worker, "gpu", "compute", 0) for worker in range(members)}
    small.reduce("a", 0, size, first, algorithm=algorithm)
    times = Times(duration_ns=np.where(small.graph.kind == 4, -1, 0), lead_ns=small.times.lead_ns)
    cluster = star(small.machines, 1e9, LATENCY_NS)
    return simulate.timeline(small.graph, times, cluster).step_ns


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("members", [2, 4, 8, 16])
def test_large_buffers_take_what_the_formula_says(algorithm: str, members: int):
    _, load = terms(0, algorithm, members, members)
    assert simulated(algorithm, members, 10**8) == pytest.approx(load * 10**8, rel=0.001)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("members", [2, 4, 8, 16])
def test_small_buffers_take_what_the_formula_says(algorithm: str, members: int):
    """Halves of a tree are not equally deep, so the one formula is a little over."""
    messages, load = terms(0, algorithm, members, members)
    expected = messages * LINKS * LATENCY_NS + load * 100
    near = 0.15 if algorithm == "tree" else 0.01
    assert simulated(algorithm, members, 100) == pytest.approx(expected, rel=near)
