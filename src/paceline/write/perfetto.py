"""Steps as a Chrome trace, for the Perfetto viewer: measured beside simulated, with arrows.

Comes in: a graph and timelines of it, each with a title. Goes out: one JSON file in which each
worker of each timeline is a process, each lane a thread, and messages and meetings are arrows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from paceline.model import I64, TALKING, UNKNOWN, Graph, Kind, Timeline, replacing, shown

APART = 10_000  # process numbers from one timeline to the next


def perfetto(graph: Graph, steps: Sequence[tuple[str, Timeline]], path: Path) -> None:
    """Writes the file whole, or leaves what was there."""
    encoder = msgspec.json.Encoder()
    with replacing(path) as part, part.open("wb") as file:
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')
        separator = b""
        for number, (title, line) in enumerate(steps):
            for event in _events(graph, line, title, number):
                file.write(separator + encoder.encode(event))
                separator = b",\n"
        file.write(b"\n]}\n")


def _events(graph: Graph, line: Timeline, title: str, number: int) -> Iterator[dict[str, object]]:
    base = number * APART
    known = np.flatnonzero(line.start_ns != UNKNOWN)
    first = int(line.start_ns[known].min(initial=0))
    for worker in graph.workers:
        name = {"name": f"{title}: worker {worker}"}
        yield {"ph": "M", "name": "process_name", "pid": base + worker, "args": name}
    device = np.unique(graph.worker.astype(np.int64) * len(graph.lanes) + graph.lane)
    for worker, lane in (divmod(int(one), len(graph.lanes)) for one in device):
        name = {"name": shown(graph.lanes[lane])}
        yield {"ph": "M", "name": "thread_name", "pid": base + worker, "tid": lane, "args": name}
    for op in known.tolist():
        yield {
            "ph": "X",
            "name": shown(graph.works[int(graph.work[op])].name),
            "cat": Kind(int(graph.kind[op])).name.lower(),
            "pid": base + int(graph.worker[op]),
            "tid": int(graph.lane[op]),
            "ts": (int(line.start_ns[op]) - first) / 1e3,
            "dur": int(line.end_ns[op] - line.start_ns[op]) / 1e3,
            "args": {"op": op},
        }
    yield from _arrows(graph, line, known, base, first)


def _arrows(
    graph: Graph, line: Timeline, known: I64, base: int, first: int
) -> Iterator[dict[str, object]]:
    """From a send to its receive; from the last arrival of a collective to the others."""
    talks = known[(graph.match[known] >= 0) & np.isin(graph.kind[known], TALKING)]
    order = talks[np.lexsort((line.start_ns[talks], graph.match[talks]))]
    for ops in np.split(order, np.flatnonzero(np.diff(graph.match[order])) + 1):
        if len(ops) < 2:
            continue
        sends = ops[graph.kind[ops] == Kind.SEND]
        source = int(sends[0]) if len(sends) else int(ops[-1])
        for target in ops.tolist():
            if target == source:
                continue
            number = base * 1000 + target
            for op, phase, at in ((source, "s", line.start_ns), (target, "f", line.end_ns)):
                yield {
                    "ph": phase,
                    "id": number,
                    "name": "meets",
                    "cat": "match",
                    "bp": "e",
                    "pid": base + int(graph.worker[op]),
                    "tid": int(graph.lane[op]),
                    "ts": (int(at[op]) - first) / 1e3,
                }
