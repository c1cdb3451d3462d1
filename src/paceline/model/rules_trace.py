"""What a valid trace is."""

import numpy as np

from paceline.model.columns import UNKNOWN
from paceline.model.rule import Rule, chain, lengths, no_rank, rows, within
from paceline.model.trace import Kind, Phase, Trace


def _trace_times(trace: Trace) -> list[str]:
    ended = trace.duration_ns != UNKNOWN
    started = trace.start_ns != UNKNOWN
    return rows("event", (ended & (trace.duration_ns < 0)) | (ended & ~started))


def _untimed(trace: Trace) -> list[str]:
    return rows("event", trace.start_ns != UNKNOWN) if trace.clock is None else []


def _trace_after(trace: Trace) -> list[str]:
    own = trace.after_worker == trace.worker
    owner = np.repeat(np.arange(len(trace)), np.diff(trace.after_from))
    bad = (trace.after_index < 0) | (own & (trace.after_index >= len(trace)))
    return rows(
        "event", np.isin(np.arange(len(trace)), owner[bad | (own & (owner == trace.after_index))])
    )


TRACE: tuple[Rule[Trace], ...] = (
    Rule("all columns are equally long",
         lambda t: lengths(t, len(t), ("after_from", "after_worker", "after_index"))),
    Rule("the worker is a rank", lambda t: ["worker"] if no_rank(t.worker) else []),
    Rule("dependencies are well formed", lambda t: chain(t, "after_index", "after_worker")),
    Rule("dependencies name events that exist, and not the event itself", _trace_after),
    Rule("every event has a name of the table", within("event", "names", "name", 0)),
    Rule("every event has a lane of the table", within("event", "lanes", "lane", 0)),
    Rule("every layer is in the table", within("event", "layers", "layer")),
    Rule("every group is in the table", within("event", "groups", "group")),
    Rule("every algorithm is in the table", within("event", "algorithms", "algorithm")),
    Rule("every kind is known", lambda t: rows("event", t.kind >= len(Kind))),
    Rule("every phase is known", lambda t: rows("event", t.phase >= len(Phase))),
    Rule("no event ends before it starts", _trace_times),
    Rule("sizes are not negative", lambda t: rows("event", t.size_bytes < -1)),
    Rule("a trace without clock has no times", _untimed),
    Rule("all columns of norms are equally long", lambda t: lengths(t.norms, len(t.norms), ())),
)  # fmt: skip
