"""What each operation of a pipeline-ops file waits for on its own worker.

Rules are proposed and held against the times: a rule that more than 1 % of its cases contradict is
dropped. The proposals are the logic of a training step (receive, compute, send, reduce, update)
and the order of the program, where messages and collectives block it.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from paceline.model import I64
from paceline.read.pipeline_program import JITTER_NS, SHARE, SLACK, program
from paceline.read.pipeline_rows import Rows
from paceline.read.pipeline_works import Work

Pairs: TypeAlias = tuple[I64, I64]  # rows that wait, and the rows that they wait for


def after(rows: Rows, works: Sequence[Work], stages: int) -> Pairs:
    """Pairs of rows of one worker, sorted: the first began, within jitter, after the second."""
    kept = [pair for pair in (*_logic(rows, stages), *program(rows, works)) if _holds(rows, *pair)]
    none = np.zeros(0, np.int64)
    owner = np.concatenate([none, *(pair[0] for pair in kept)])
    target = np.concatenate([none, *(pair[1] for pair in kept)])
    true = (rows.end_ns[target] <= rows.end_ns[owner]) & (owner != target)
    both = np.sort(owner[true] * len(rows) + target[true])
    both = both[np.diff(both, prepend=-1) != 0]  # several rules may say the same
    return both // len(rows), both % len(rows)


def _holds(rows: Rows, owner: I64, target: I64) -> bool:
    """True if nearly always the second ended before the first began."""
    lengths = rows.end_ns - rows.start_ns
    slack = (np.minimum(lengths[owner], lengths[target]) * SLACK).astype(np.int64)
    early = rows.end_ns[target] - rows.start_ns[owner] > np.maximum(slack, JITTER_NS)
    return bool(len(owner)) and float(np.mean(early)) <= SHARE


def _logic(rows: Rows, stages: int) -> Iterator[Pairs]:
    """The rules that follow from what the operations are."""
    known = bool((rows.global_chunk >= 0).any())
    chunk = rows.global_chunk if known else rows.stage[rows.rank]
    last = int(rows.global_chunk.max()) if known else stages - 1
    for way, source, sink in (("forward", 0, last), ("backward", last, 0)):
        compute = rows.of(f"{way}-compute")
        yield _kth(rows, compute[chunk[compute] != source], rows.of(f"{way}-recv"))
        yield _kth(rows, rows.of(f"{way}-send"), compute[chunk[compute] != sink])
    backward, forward = rows.of("backward-compute"), rows.of("forward-compute")
    yield _joined(rows, backward, forward, (rows.chunk, rows.micro_batch))
    for chunked in (True, False):
        yield _once(rows, "forward-compute", "params-all-gather", chunked)
        yield _once(rows, "grads-reduce-scatter", "backward-compute", chunked)
    for grads in ("layernorm-grads-all-reduce", "embedding-grads-all-reduce"):
        yield _once(rows, grads, "backward-compute", False)
    reduced = ("grads-reduce-scatter", "layernorm-grads-all-reduce", "embedding-grads-all-reduce")
    for update in ("optimizer-clip-main-grad", "optimizer"):
        for grads in reduced:
            yield _once(rows, update, grads, False)
    yield _once(rows, "optimizer", "optimizer-clip-main-grad", False)


def _kth(rows: Rows, owners: I64, targets: I64) -> Pairs:
    """The k-th of each in every step of every worker."""
    turns = np.zeros(len(rows), np.int64)
    for own in (owners, targets):
        turns[own] = _turns(rows, own)
    return _joined(rows, owners, targets, (turns,))


def _turns(rows: Rows, own: I64) -> I64:
    """The position of each row among those of its worker and step, which rows are sorted by."""
    at = np.arange(len(own))
    fresh = (np.diff(rows.rank[own], prepend=-1) != 0) | (np.diff(rows.step[own], prepend=-1) != 0)
    return at - np.maximum.accumulate(np.where(fresh, at, 0))


def _once(rows: Rows, owner: str, target: str, chunked: bool) -> Pairs:
    """The first `owner` after the last `target`, in every step (and chunk) of every worker."""
    owners, targets = rows.of(owner), rows.of(target)
    columns = (rows.chunk,) if chunked else ()
    return _joined(rows, owners, targets[::-1], columns)


def _joined(rows: Rows, owners: I64, targets: I64, columns: Sequence[I64]) -> Pairs:
    """The first of each that share worker, step and these columns."""
    both = np.concatenate((owners, targets))
    key = np.zeros(len(both), np.int64)
    for column in (rows.rank, rows.step, *columns):  # numbered anew each time: nothing overflows
        values, at = np.unique(column[both], return_inverse=True)
        key = np.unique(key * len(values) + at, return_inverse=True)[1]
    mine, first = np.unique(key[: len(owners)], return_index=True)
    its, second = np.unique(key[len(owners) :], return_index=True)
    _, a, b = np.intersect1d(mine, its, assume_unique=True, return_indices=True)
    return owners[first[a]], targets[second[b]]
