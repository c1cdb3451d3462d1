"""Chooses ops by what an edit says of them: worker, kind, layer.

A selector that no op answers to is refused, with what there is.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paceline.model import KINDS, Edit, Graph, InputError
from paceline.rewrite.key import listed, nearest, whole, word

Mask = npt.NDArray[np.bool_]


def selected(graph: Graph, edit: Edit, *, of_any_kind: bool = False) -> Mask:
    """The ops that answer to all of worker=, kind= and layer= that the edit gives."""
    mask = np.ones(len(graph), dtype=bool)
    worker, layer = whole(edit, "worker"), word(edit, "layer")
    kind = None if of_any_kind else word(edit, "kind")
    if worker is not None:
        mask &= _of_worker(graph, worker, edit)
    if kind is not None:
        mask &= _of_kind(graph, kind, edit)
    if layer is not None:
        mask &= _of_layer(graph, layer, edit)
    if not mask.any():
        raise names_nothing(edit, "no op answers to all its selectors", "Ask for fewer at once.")
    return mask


def names_nothing(edit: Edit, found: str, there_is: str, cure: str = "") -> InputError:
    """The error of a selector without ops."""
    return InputError(f"names nothing: {found}.", where=edit, expected=there_is, cure=cure)


def _of_worker(graph: Graph, rank: int, edit: Edit) -> Mask:
    mask = graph.worker == rank
    if not mask.any():
        raise names_nothing(edit, f"there is no worker {rank}", there_are_workers(graph.workers))
    return mask


def there_are_workers(workers: Sequence[int]) -> str:
    """The ranks of a graph in one sentence."""
    ranks = sorted(workers)
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"There are workers {ranks[0]} to {ranks[-1]}."
    return f"There are workers {listed(ranks)}." if ranks else "There are no workers."


def _of_kind(graph: Graph, kind: str, edit: Edit) -> Mask:
    mask = graph.kind == KINDS[kind]
    if not mask.any():
        present = np.unique(graph.kind)
        there = [name for name, number in KINDS.items() if number in present]
        raise names_nothing(edit, f"there is no {kind} op", f"There are {listed(there)}.")
    return mask


def _of_layer(graph: Graph, layer: str, edit: Edit) -> Mask:
    """The ops of a layer and of the layers inside it (`encoder` holds `encoder.0`)."""
    named = [name == layer or name.startswith(f"{layer}.") for name in graph.layers]
    inside = np.array([*named, False], dtype=bool)  # the last for -1, no layer
    mask = inside[graph.layer]
    if mask.any():
        return mask
    used = [graph.layers[int(at)] for at in np.unique(graph.layer) if at >= 0]
    if not used:
        raise names_nothing(
            edit, "no op of this job knows its layer", "Layers come from traces with module names."
        )
    guess = nearest(layer, used)
    raise names_nothing(
        edit, f"there is no layer {layer!r}", f"There are layers {listed(used, 5)}.",
        f"Did you mean {guess!r}?" if guess else "",
    )  # fmt: skip
