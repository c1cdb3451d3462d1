"""What makes two pieces the same op in different steps, and the same work on different workers.

A key is what a piece does, apart from when, how long and how much: name, kind, phase, layer,
algorithm, and for the hop of a chunk its bucket and round. The size is left to the op: all-to-all
sends other amounts every step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paceline.model import I64, Kind, Phase, Trace
from paceline.stitch.flatten import Pieces
from paceline.stitch.meeting import packed


class Key(NamedTuple):
    """What a piece does."""

    name: str
    kind: Kind
    phase: Phase
    layer: str | None
    algorithm: str | None
    bucket: int
    round: int


def keys(traces: Sequence[Trace], pieces: Sequence[Pieces]) -> tuple[tuple[Key, ...], list[I64]]:
    """All keys of the job, and for each worker the key of each piece."""
    table: dict[Key, int] = {}
    numbers: list[I64] = []
    for trace, own in zip(traces, pieces, strict=True):
        columns = (
            trace.name, trace.kind, trace.phase, trace.layer, trace.algorithm, trace.bucket,
            trace.round,
        )  # fmt: skip
        code = packed(*(column[own.event].astype(np.int64) for column in columns))
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        number = [table.setdefault(_key(trace, int(own.event[at])), len(table)) for at in first]
        numbers.append(np.array(number, dtype=np.int64)[which])
    return tuple(table), numbers


def _key(trace: Trace, event: int) -> Key:
    layer, algorithm = int(trace.layer[event]), int(trace.algorithm[event])
    return Key(
        trace.names[int(trace.name[event])],
        Kind(int(trace.kind[event])),
        Phase(int(trace.phase[event])),
        trace.layers[layer] if layer >= 0 else None,
        trace.algorithms[algorithm] if algorithm >= 0 else None,
        int(trace.bucket[event]),
        int(trace.round[event]),
    )
