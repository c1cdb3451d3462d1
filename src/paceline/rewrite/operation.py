"""The works of a graph by operation: which collectives are all-reduces, and one op of each."""

import numpy as np
import numpy.typing as npt

from paceline.model import I32, OPERATIONS, U8, Graph, Kind, Work, operation

ALL_REDUCE = OPERATIONS.index("all_reduce")


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
