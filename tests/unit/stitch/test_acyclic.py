"""What makes ops wait for themselves goes, guesses first."""

import dataclasses

import numpy as np
from small_jobs import Small

from paceline.model import Graph, Note, verify
from paceline.stitch.acyclic import acyclic


def freed(
    graph: Graph, *guesses: tuple[int, int]
) -> tuple[list[tuple[int, ...]], tuple[Note, ...]]:
    pairs = np.array(guesses, dtype=np.int64).reshape(-1, 2)
    found, notes = acyclic(graph, (pairs[:, 0], pairs[:, 1]))
    verify(found)
    return [op.after for op in found], notes


def lanes(*afters: tuple[int, ...]) -> Graph:
    job = Small(1)
    for at, after in enumerate(afters):
        job.add(0, f"lane {at}", "host", 0, *after)
    return job.graph


def test_guesses_without_a_circle_stay() -> None:
    assert freed(lanes((), (0,), ()), (2, 1), (2, 0), (1, 0)) == ([(), (0,), (0, 1)], ())


def test_the_guess_that_points_to_a_later_op_goes_first() -> None:
    afters, notes = freed(lanes((), (), ()), (0, 2), (2, 1), (1, 0))
    assert afters == [(), (0,), (1,)]
    assert [(note.code, note.count) for note in notes] == [("circle", 1)]
    assert "inferred" in notes[0].text


def test_guesses_outside_the_circle_stay() -> None:
    afters, _ = freed(lanes((1,), (), (), ()), (1, 0), (3, 2))
    assert afters == [(1,), (), (), (2,)]


def test_recorded_dependencies_go_only_if_guesses_are_not_to_blame() -> None:
    afters, notes = freed(lanes((1,), (0,), ()), (2, 1))
    assert afters == [(), (0,), (1,)]
    assert ["recorded" in note.text for note in notes] == [True]


def test_order_of_lanes_outlives_all() -> None:
    job = Small(1)
    job.add(0, "main", "host", 0, 1)
    job.add(0, "main", "host", 0)
    assert freed(job.graph)[0] == [(), ()]


def test_matches_that_cross_are_taken_apart() -> None:
    job = Small(2)
    job.group("dp")
    for worker, names in enumerate((("a", "b"), ("b", "a"))):
        for name in names:
            job.add(worker, "comm", "collective", 0, match=name, group="dp")
    graph = job.graph
    found, notes = acyclic(graph, (np.empty(0, np.int64), np.empty(0, np.int64)))
    assert verify(found).match.tolist() == [-1] * 4
    assert [(note.text.split()[0], note.count) for note in notes] == [("matches", 2)]


def test_a_dependency_known_twice_is_kept_once() -> None:
    graph = lanes((), (0,))
    doubled = dataclasses.replace(
        graph, after_from=np.array([0, 0, 2]), after_op=np.array([0, 0], np.int32)
    )
    assert freed(doubled, (1, 0))[0] == [(), (0,)]
