"""What a valid graph is; above all, that no op waits for itself."""

import numpy as np
import numpy.typing as npt

from paceline.model.graph import Graph
from paceline.model.rule import Rule, chain, lengths, no_rank, outside, rows, within
from paceline.model.trace import TALKING, Kind, Phase


def _graph_after(graph: Graph) -> list[str]:
    return ["an op outside the graph"] if outside(graph.after_op, len(graph)) else []


def cyclic_ops(graph: Graph) -> npt.NDArray[np.int64]:
    """Ops that wait for themselves, through dependencies, lane order and matches; empty if none.

    Works on meeting points: ops of one collective count as one, since none ends before all began.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ops = len(graph)
    if not ops:
        return np.empty(0, np.int64)
    node = np.arange(ops)
    meets = (graph.match >= 0) & (graph.kind == Kind.COLLECTIVE)
    node[meets] = ops + graph.match[meets]
    waits = np.repeat(np.arange(ops), np.diff(graph.after_from))
    lanes = np.lexsort((np.arange(ops), graph.lane, graph.worker))
    same = (np.diff(graph.lane[lanes]) == 0) & (np.diff(graph.worker[lanes]) == 0)
    sends, receives = _messages(graph)
    before = np.concatenate([graph.after_op, lanes[:-1][same], sends])
    behind = np.concatenate([waits, lanes[1:][same], receives])
    size = ops + len(graph.match_group)
    edges = coo_matrix((np.ones(len(before), np.int8), (node[before], node[behind])), (size, size))
    _, label = connected_components(edges, connection="strong")
    itself = node[before[node[before] == node[behind]]]
    bad = np.bincount(label)[label] > 1
    bad[itself] = True
    return np.flatnonzero(bad[node])


def _messages(graph: Graph) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Send and receive op of each message that has both."""
    at = np.full((2, len(graph.match_group)), -1, dtype=np.int64)
    for row, kind in enumerate((Kind.SEND, Kind.RECV)):
        ops = np.flatnonzero((graph.kind == kind) & (graph.match >= 0))
        at[row, graph.match[ops]] = ops
    both = (at >= 0).all(axis=0)
    return at[0, both], at[1, both]


def _matches(graph: Graph) -> list[str]:
    talks = np.isin(graph.kind, TALKING)
    return rows("op", (graph.match >= 0) & ~talks)


def _match_workers(graph: Graph) -> list[str]:
    ops = np.flatnonzero((graph.match >= 0) & (graph.kind == Kind.COLLECTIVE))
    pairs = graph.match[ops].astype(np.int64) << 32 | graph.worker[ops]
    _, first = np.unique(pairs, return_index=True)
    twice = np.ones(len(ops), dtype=bool)
    twice[first] = False
    return [f"op {op}" for op in ops[twice][:4]]


GRAPH: tuple[Rule[Graph], ...] = (
    Rule("all columns are equally long",
         lambda g: lengths(g, len(g), ("after_from", "after_op", "match_group"))),
    Rule("dependencies are well formed", lambda g: chain(g, "after_op")),
    Rule("dependencies name ops that exist", _graph_after),
    Rule("workers are ranks", lambda g: ["workers"] if any(map(no_rank, g.workers)) else []),
    Rule("every op has a work of the table", within("op", "works", "work", 0)),
    Rule("every op has a lane of the table", within("op", "lanes", "lane", 0)),
    Rule("every layer is in the table", within("op", "layers", "layer")),
    Rule("every bucket is in the table", within("op", "buckets", "bucket")),
    Rule("every match is in the table", within("op", "match_group", "match")),
    Rule("every match's group is in the table", within("match", "groups", "match_group")),
    Rule("every kind is known", lambda g: rows("op", g.kind >= len(Kind))),
    Rule("every phase is known", lambda g: rows("op", g.phase >= len(Phase))),
    Rule("every op belongs to a listed worker",
         lambda g: rows("op", ~np.isin(g.worker, np.array(g.workers, dtype=np.int64)))),
    Rule("sizes are not negative", lambda g: rows("op", g.size_bytes < -1)),
    Rule("only sends, receives and collectives meet", _matches),
    Rule("a worker takes part in a collective once", _match_workers),
    Rule("no op waits for itself", lambda g: [f"op {op}" for op in cyclic_ops(g)[:4]]),
)  # fmt: skip
