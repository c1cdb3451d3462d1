"""Timelines of the PyTorch profiler (Kineto): Chrome trace events, plain or gzipped.

Of torch 1.11 to 2.13, on CUDA, ROCm and CPU with gloo. What a version words differently is dealt
with beside this folder: times in `kineto_time`, words in `kineto_names`, collectives in
`kineto_talk`, contexts in `kineto_scopes`, dependencies in `kineto_after`.
"""

import re

from paceline.model import InputError, Note, Trace
from paceline.read.kineto_head import KEPT, Head
from paceline.read.kineto_rows import Rows
from paceline.read.kineto_trace import trace_of
from paceline.read.opened import Opened
from paceline.read.pieces import Pieces

NAME: str = "kineto"

_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_KEYS = re.compile(rb'"(?:schemaVersion|deviceProperties|baseTimeNanoseconds|distributedInfo)"\s*:')
_SPAN = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|user_annotation|python_function|\w+_runtime|gpu_mem\w+|kernel'
    rb'|cpu_instant_event|Operator|Runtime|Kernel|Memcpy|Memset)"'
)


def sniff(opened: Opened) -> bool:
    """True for a JSON document with trace events in PyTorch's words."""
    head = opened.head
    if not _START.match(head):
        return False
    listed = b'"traceEvents"' in head or head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    return (listed and _SPAN.search(head) is not None) or (
        _KEYS.search(head) is not None and b'"paceline' not in head[:4096]
    )


def read(opened: Opened) -> tuple[Trace, ...]:
    """The trace of the one worker that wrote the file."""
    rows = Rows(opened.path)
    pieces = Pieces(opened, "traceEvents", KEPT, rows)
    for batch in pieces:
        rows.take(batch)
    if not rows.count:
        raise _empty(opened, pieces.broken_off, rows.entries)
    head = Head(opened.path, pieces.fields)
    notes = _notes(rows, pieces.broken_off, head.rank())
    whole = pieces.broken_off is None
    return (trace_of(rows, head, opened.source(NAME), notes, whole=whole),)


def _empty(opened: Opened, broken_off: int | None, entries: int) -> InputError:
    if broken_off is not None:
        found = f"breaks off at byte {broken_off:,}, before the first event ended."
    else:
        found = f"holds no events that can be used ({entries:,} entries)."
    return InputError(
        found,
        where=opened.path,
        expected="Operators, kernels or annotations are needed.",
        cure="Record it again.",
    )


def _notes(rows: Rows, broken_off: int | None, rank: int) -> tuple[Note, ...]:
    """What could not be used, in the user's terms."""
    found: list[tuple[str, str, int]] = []
    if broken_off is not None:
        text = f"the file breaks off at byte {broken_off:,}; {rows.entries:,} entries were kept"
        found.append(("truncated", text, 1))
    if rows.repair.count:
        text = "entries were not valid JSON and could be read all the same"
        found.append(("repaired", text, rows.repair.count))
    if rows.contexts_lost:
        text = "module spans without proper times were left out"
        found.append(("unusable", text, rows.contexts_lost))
    for category, count in rows.foreign.most_common(10):
        found.append(("unused", f"spans of category {category!r} were left out", count))
    worker = rank if rank >= 0 else None
    return tuple(
        Note(code=code, text=text, worker=worker, count=count) for code, text, count in found
    )
