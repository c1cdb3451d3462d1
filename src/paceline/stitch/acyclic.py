"""Takes out of a graph's dependencies what makes an op wait for itself.

Recorded times cannot run in a circle, but what was inferred from most steps, or was folded from
steps of different order, can. Guesses go first, then dependencies that traces showed, then matches;
of each, first those that point to a later op, and only those of ops inside a circle.
"""

import dataclasses

import numpy as np

from paceline.model import I64, Graph, Note, chained, cyclic_ops
from paceline.stitch.nest import Mask


def acyclic(graph: Graph, guessed: tuple[I64, I64]) -> tuple[Graph, tuple[Note, ...]]:
    """The graph with the guessed dependencies, less what lies on circles; and what was dropped."""
    shown = np.repeat(np.arange(len(graph)), np.diff(graph.after_from))
    owner = np.concatenate([shown, guessed[0]])
    target = np.concatenate([graph.after_op.astype(np.int64), guessed[1]])
    is_guess = np.arange(len(owner)) >= len(shown)
    later = target > owner
    dropped = np.zeros(len(owner), dtype=np.bool_)
    for suspects in (is_guess & later, is_guess, later, np.ones(len(owner), dtype=np.bool_)):
        full = _with(graph, owner[~dropped], target[~dropped])
        inside = cyclic_ops(full)
        if not len(inside):
            break
        dropped |= suspects & np.isin(owner, inside) & np.isin(target, inside)
    full = _with(graph, owner[~dropped], target[~dropped])
    full, unmatched = _unmatched(full)
    return full, tuple(
        Note(code="circle", text=f"{what} that made ops wait for themselves left out", count=count)
        for what, count in (
            ("inferred dependencies", _number(dropped & is_guess)),
            ("recorded dependencies", _number(dropped & ~is_guess)),
            ("matches", unmatched),
        )
        if count
    )


def _number(marked: Mask) -> int:
    return int(marked.sum())


def _with(graph: Graph, owner: I64, target: I64) -> Graph:
    """The graph with these dependencies, each once."""
    count = max(len(graph), 1)
    owner, target = np.divmod(np.unique(owner * count + target), count)
    return dataclasses.replace(
        graph,
        after_from=chained(np.bincount(owner, minlength=len(graph))),
        after_op=target.astype(np.int32),
    )


def _unmatched(graph: Graph) -> tuple[Graph, int]:
    """The graph without the matches that the order of lanes alone contradicts."""
    inside = cyclic_ops(graph)
    if not len(inside):
        return graph, 0
    lost = np.unique(graph.match[inside[graph.match[inside] >= 0]])
    match = np.where(np.isin(graph.match, lost), -1, graph.match)
    return dataclasses.replace(graph, match=match), len(lost)
