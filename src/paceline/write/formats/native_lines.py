"""Traces as native JSON lines, compressed if the name ends in .gz; unknown fields are left out."""

import gzip
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from paceline.model import UNKNOWN, Kind, Phase, Trace
from paceline.write.native_head import head

ENDINGS: tuple[str, ...] = (".jsonl", ".jsonl.gz")

_CHUNK = 1 << 14


class _Event(msgspec.Struct, gc=False):
    worker: int
    step: int | UnsetType
    name: str
    kind: str
    phase: str | UnsetType
    lane: str
    start_ns: int | UnsetType | None
    duration_ns: int | UnsetType
    layer: str | UnsetType
    size_bytes: int | UnsetType
    group: str | UnsetType
    sequence: int | UnsetType
    peer: int | UnsetType
    bucket: int | UnsetType
    chunk: int | UnsetType
    round: int | UnsetType
    algorithm: str | UnsetType
    record: int | UnsetType
    after: list[tuple[int, int]] | UnsetType


def write(traces: Sequence[Trace], path: Path, part: Path) -> None:
    """Writes `part`, which will become `path`."""
    with part.open("wb") as raw:
        if not path.name.endswith(".gz"):
            _write(traces, raw)
            return
        # neither name nor time go into the file: equal traces give equal files
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            _write(traces, cast(BinaryIO, packed))


def _write(traces: Sequence[Trace], file: BinaryIO) -> None:
    encoder = msgspec.json.Encoder()
    file.write(head(traces))
    for trace in traces:
        for first in range(0, len(trace), _CHUNK):
            file.write(encoder.encode_lines(list(_events(trace, first, first + _CHUNK))))


def _events(trace: Trace, first: int, last: int) -> Iterator[_Event]:
    own = slice(first, last)
    lanes, names = trace.lanes, trace.names
    kinds = [kind.name.lower() for kind in Kind]
    phases = [UNSET if phase is Phase.OTHER else phase.name.lower() for phase in Phase]
    unknown_start = UNSET if trace.clock is None else None
    columns = zip(
        _known(trace.step[own]),
        [names[at] for at in trace.name[own].tolist()],
        [kinds[at] for at in trace.kind[own].tolist()],
        [phases[at] for at in trace.phase[own].tolist()],
        [lanes[at] for at in trace.lane[own].tolist()],
        [unknown_start if ns == UNKNOWN else ns for ns in trace.start_ns[own].tolist()],
        _known(trace.duration_ns[own], UNKNOWN),
        _texts(trace.layers, trace.layer[own]),
        _known(trace.size_bytes[own]),
        _texts([group.name for group in trace.groups], trace.group[own]),
        _known(trace.sequence[own]),
        _known(trace.peer[own]),
        _known(trace.bucket[own]),
        _known(trace.chunk[own]),
        _known(trace.round[own]),
        _texts(trace.algorithms, trace.algorithm[own]),
        _known(trace.record[own]),
        _after(trace, first, min(last, len(trace))),
        strict=True,
    )
    return (_Event(trace.worker, *row) for row in columns)


def _known(column: npt.NDArray[Any], unknown: int = -1) -> list[int | UnsetType]:
    return [UNSET if value == unknown else value for value in column.tolist()]


def _texts(table: Sequence[str], column: npt.NDArray[Any]) -> list[str | UnsetType]:
    padded = (*table, UNSET)  # -1 finds the last
    return [padded[at] for at in column.tolist()]


def _after(trace: Trace, first: int, last: int) -> list[list[tuple[int, int]] | UnsetType]:
    bounds = trace.after_from[first : last + 1].tolist()
    if bounds[0] == bounds[-1]:
        return [UNSET] * (last - first)
    own = slice(bounds[0], bounds[-1])
    pairs = list(
        zip(trace.after_worker[own].tolist(), trace.after_index[own].tolist(), strict=True)
    )
    return [pairs[a - bounds[0] : b - bounds[0]] if b > a else UNSET for a, b in pairwise(bounds)]
