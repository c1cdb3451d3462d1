"""Which operation a collective is: all-reduce, all-gather, and so on.

Traces name collectives as their frameworks do (`gloo:all_reduce`, `ncclDevKernel_AllReduce_...`),
so only the letters of a name count. A name that says no operation at all ("grads 0") stands for
gradients reduced together: an all-reduce.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import I32, U8, Graph, Kind, Work

# The first that a name contains; `reduce` last of those that contain it.
OPERATIONS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "barrier",
    "gather",
    "scatter",
    "reduce",
)
ALL_REDUCE = 0
_LETTERS = tuple(name.replace("_", "") for name in OPERATIONS)


def operation(work: Work) -> int:
    """Position in OPERATIONS of what a collective work does."""
    letters = "".join(mark for mark in work.name.lower() if mark.isalpha())
    found = (at for at, name in enumerate(_LETTERS) if name in letters)
    return next(found, ALL_REDUCE)


def works_of(graph: Graph, ops: npt.NDArray[np.integer]) -> list[Work]:
    """What each of these ops does."""
    return [graph.works[int(work)] for work in graph.work[ops]]


def operations(graph: Graph) -> U8:
    """The operation of each work of the table; meaningful for collectives."""
    return np.fromiter((operation(work) for work in graph.works), np.uint8, len(graph.works))


def all_reduces(graph: Graph) -> npt.NDArray[np.bool_]:
    """Which ops take part in an all-reduce."""
    some = (graph.kind == Kind.COLLECTIVE) & (graph.match >= 0)
    out = np.zeros(len(graph), dtype=bool)
    if some.any():
        out[some] = operations(graph)[graph.work[some]] == ALL_REDUCE
    return out


def first_op(graph: Graph, ops: npt.NDArray[np.integer]) -> I32:
    """For each match one op of it among `ops`, -1 where there is none."""
    out = np.full(len(graph.match_group), -1, dtype=np.int32)
    backward = ops[::-1]
    out[graph.match[backward]] = backward
    return out
