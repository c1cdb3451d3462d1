"""What must hold before compiled code may touch a graph, and how ops are named to people.

Whoever calls has verified the graph; these are the checks that cost next to nothing and keep a
wrong index from becoming a wrong number.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import Graph, Kind, ModelError, Times

LONGEST_NS = 2.0**62  # sums stay exact below
_TALKS = "Give it a duration, or play it with a cluster, so that it follows from size and links."
_WORKS = "Give it a duration."


def named(graph: Graph, op: int) -> str:
    """An op in the user's terms."""
    name = graph.works[int(graph.work[op])].name
    lane = graph.lanes[int(graph.lane[op])]
    return f'"{name}" of worker {int(graph.worker[op])} (lane {lane}, op {op})'


def sound(graph: Graph, times: Times) -> None:
    """ModelError unless the graph's indices point into its tables and the times fit it."""
    ops = len(graph)
    for what, many in (("durations", len(times.duration_ns)), ("leads", len(times.lead_ns))):
        if many != ops:
            raise ModelError(
                f"The graph has {ops} ops, but there are {many} {what}.",
                expected="Times belong to one graph, op by op.",
            )
    columns = (graph.worker, graph.lane, graph.match, graph.work, graph.size_bytes)
    starts = graph.after_from
    if any(len(column) != ops for column in columns) or len(starts) != ops + 1:
        raise ModelError("The columns of the graph are not equally long.", cure="Verify it first.")
    if starts[0] != 0 or starts[-1] != len(graph.after_op) or (np.diff(starts) < 0).any():
        raise ModelError("The dependencies of the graph are not well formed.")
    if not ops:
        return
    for what, column, lowest, size in (
        ("dependency", graph.after_op, 0, ops),
        ("lane", graph.lane, 0, len(graph.lanes)),
        ("work", graph.work, 0, len(graph.works)),
        ("match", graph.match, -1, len(graph.match_group)),
        ("kind", graph.kind, 0, len(Kind)),
    ):
        if len(column) and (column.min() < lowest or column.max() >= size):
            raise ModelError(f"An op has a {what} that is not in the graph's table.")
    for what, column, lowest in (("duration", times.duration_ns, -1), ("lead", times.lead_ns, 0)):
        if column.min() < lowest:
            op = int(np.argmin(column))
            raise ModelError(f"The {what} of {named(graph, op)} is {column[op]} ns.")


def short_enough(total_ns: float) -> None:
    """ModelError if a sum of times could leave the range of whole nanoseconds."""
    if not total_ns < LONGEST_NS:
        raise ModelError(
            f"The step would take up to {total_ns / 1e9:.3g} s.",
            expected="A step is shorter than 146 years.",
            cure="Look for a duration or a rate in the wrong unit.",
        )


def unknown(graph: Graph, ops: npt.NDArray[np.intp]) -> ModelError:
    """Says that the durations of these ops are not known."""
    op = int(ops[0])
    others = f", and of {len(ops) - 1} more" if len(ops) > 1 else ""
    talks = Kind(int(graph.kind[op])) in {Kind.SEND, Kind.RECV, Kind.COLLECTIVE}
    return ModelError(
        f"The duration of {named(graph, op)}{others} is not known.",
        cure=_TALKS if talks else _WORKS,
    )


def waits_for_itself(graph: Graph, ops: npt.NDArray[np.integer]) -> ModelError:
    """Says which ops can never begin."""
    shown = "; ".join(named(graph, int(op)) for op in ops[:3])
    return ModelError(
        f"{len(ops)} ops wait for themselves: {shown}{'; …' if len(ops) > 3 else ''}.",
        expected="No op waits for itself, through dependencies, lane order or meetings.",
        cure="Drop one of the dependencies between them.",
    )
