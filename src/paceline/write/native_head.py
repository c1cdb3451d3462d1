"""What stands in a native file before the events: the header, groups, facts, pings, norms, notes.

In JSON lines it makes the first lines, in Parquet the text of the metadata key `paceline_trace`.
A group is declared once where that says the same for every worker, else by worker.
"""

import math
from collections.abc import Iterator, Sequence

import msgspec

from paceline.model import Facts, Trace

VERSION = 1


def head(traces: Sequence[Trace]) -> bytes:
    """The lines before the events."""
    return msgspec.json.Encoder().encode_lines(list(_lines(traces)))


def _lines(traces: Sequence[Trace]) -> Iterator[dict[str, object]]:
    workers = _common_workers(traces)
    tools = {source.tool: None for trace in traces for source in trace.sources if source.tool}
    yield {
        "paceline_trace": VERSION,
        **({} if workers is None else {"workers": workers}),
        "source": ", ".join(tools) or "paceline",
        **({} if traces[0].clock == "unix" else {"clock": traces[0].clock}),
    }
    yield from _groups(traces)
    for trace in traces:
        facts = trace.facts
        if workers is not None:
            facts = msgspec.structs.replace(facts, workers=None)
        if facts != Facts() or not len(trace):
            known = {k: v for k, v in msgspec.structs.asdict(facts).items() if v is not None}
            yield {"facts": known, "worker": trace.worker}
        for ping in trace.pings:
            yield {"ping": msgspec.structs.asdict(ping), "worker": trace.worker}
        yield from _norms(trace)
        for note in trace.notes:
            yield {"note": msgspec.structs.asdict(note), "worker": trace.worker}


def _common_workers(traces: Sequence[Trace]) -> int | None:
    """How many workers there are, if all traces say the same and no rank contradicts it."""
    told = {trace.facts.workers for trace in traces}
    workers = told.pop()
    if told or workers is None:
        return None
    ranks = [max(trace.worker, int(trace.peer.max(initial=0))) for trace in traces]
    ranks += [ping.peer for trace in traces for ping in trace.pings]
    ranks += [max(g.members) for trace in traces for g in trace.groups if g.members]
    return workers if max(ranks) < workers else None


def _groups(traces: Sequence[Trace]) -> Iterator[dict[str, object]]:
    held: dict[str, dict[int, tuple[int, ...] | None]] = {}
    for trace in traces:
        for group in trace.groups:
            held.setdefault(group.name, {})[trace.worker] = group.members
    here = {trace.worker for trace in traces}
    for name, by_worker in held.items():
        members = next(iter(by_worker.values()))
        if set(by_worker.values()) == {members} and set(by_worker) == here & {*(members or ())}:
            yield {"group": name, "members": members}
            continue
        for worker, own in by_worker.items():
            known = {} if own is None else {"members": own}
            yield {"group": name, **known, "worker": worker}


def _norms(trace: Trace) -> Iterator[dict[str, object]]:
    norms = trace.norms
    columns = {"loss": norms.loss, "local": norms.local, "average": norms.average}
    for at, step in enumerate(norms.step.tolist()):
        own = {name: float(column[at]) for name, column in columns.items()}
        known = {name: value for name, value in own.items() if math.isfinite(value)}
        yield {"norms": known, "worker": trace.worker, "step": step}
