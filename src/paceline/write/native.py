"""Traces to one native file: JSON lines or Parquet, as the name says.

docs/formats/native.md specifies the format. Reading the file again gives equal traces, but for
their sources and for texts that no event uses.
"""

from collections.abc import Sequence
from pathlib import Path

from paceline.model import InputError, ModelError, Trace, replacing
from paceline.write.formats import TRACE_FORMATS


def traces(traces: Sequence[Trace], path: Path | str) -> None:
    """Writes the traces whole, or leaves what was there; one trace a worker, all on one clock."""
    for format in TRACE_FORMATS:
        if str(path).endswith(format.ENDINGS):
            break
    else:
        endings = [ending for format in TRACE_FORMATS for ending in format.ENDINGS]
        raise InputError(
            "has no ending of a native trace.",
            where=path,
            expected=f"It is one of {', '.join(endings)}.",
        )
    _check(traces, path)
    with replacing(Path(path)) as part:
        format.write(traces, Path(path), part)


def _check(traces: Sequence[Trace], path: Path | str) -> None:
    if not traces:
        raise ModelError("there is no trace to write.", where=path)
    workers = [trace.worker for trace in traces]
    if len(set(workers)) != len(workers):
        raise ModelError(
            "there are two traces of one worker.",
            where=path,
            expected="A native file holds one a worker.",
            cure="Write one file for each.",
        )
    if len({trace.clock for trace in traces}) != 1:
        raise ModelError(
            "the traces have times of different clocks.",
            where=path,
            expected="A native file has one clock.",
            cure="Write one file for each clock.",
        )
