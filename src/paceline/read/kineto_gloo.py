"""Which operator started which of gloo's spans, and on which lanes these spans lie.

Gloo works on threads of its own and names no operator. With an execution trace attached the span
has the record id after its operator's; without one, the k-th span of a kind belongs to the k-th
operator of that kind. Older versions book a span to the thread that asked for it, on which it
overlaps everything else: such spans get lanes of their own.
"""

import heapq
from collections import Counter

import numpy as np
import numpy.typing as npt

from paceline.model import I64
from paceline.read.kineto_join import latest, matching
from paceline.read.kineto_names import Cat, Role
from paceline.read.kineto_table import Table
from paceline.read.kineto_talk import Talks


def gloo_threads(table: Table, titles: dict[int, str]) -> tuple[int, ...]:
    """The threads that work for gloo only: so named, or with nothing outside its collectives."""
    spans = np.flatnonzero((table.role == Role.GLOO) & (table.cat < Cat.PYTHON))
    threads = table.thread.astype(np.int64)
    ops = np.flatnonzero((table.cat == Cat.OP) & np.isin(threads, threads[spans]))
    at = latest(threads[spans], table.start[spans], threads[ops], table.start[ops])
    outside = at < 0
    outside[~outside] = table.start[ops[~outside]] >= table.end(spans[at[~outside]])
    users = set(threads[ops[outside]].tolist())
    named = {thread for thread, title in titles.items() if "gloo" in title}
    return tuple(sorted(named | (set(threads[spans].tolist()) - users)))


def started(table: Table, talks: Talks, *, whole: bool) -> tuple[I64, I64]:
    """Pairs of a gloo span and the operator that started it.

    Of a file that is not `whole` spans of one thread may be there and those of another not: then
    order tells nothing, unless there are as many spans as operators.
    """
    word = dict(zip(talks.row, talks.word, strict=True))
    spans = np.flatnonzero((table.role == Role.GLOO) & (table.cat < Cat.PYTHON))
    ops = np.flatnonzero((table.role == Role.C10D) & (table.cat == Cat.OP))
    record = np.full(len(table), -1, dtype=np.int64)
    record[table.ops] = np.where(table.record > 0, table.record, -1)
    at = matching(record[ops] + (record[ops] > 0), record[spans])
    op = np.where(at >= 0, ops[at], -1) if len(ops) else at
    if not (op >= 0).any():
        op = _in_order(table, spans, ops, word)
        if not whole:
            op[~_as_many(spans, ops, word)] = -1
    known = op >= 0
    known[known] &= table.end(op[known]) <= table.end(spans[known])
    return spans[known], op[known]


def _in_order(table: Table, spans: I64, ops: I64, word: dict[int, str]) -> I64:
    waiting: dict[str, list[int]] = {}
    for op in ops[np.argsort(-table.start[ops], kind="stable")].tolist():
        waiting.setdefault(_kind(word[op]), []).append(op)
    found = np.full(len(spans), -1, dtype=np.int64)
    for at in np.argsort(table.start[spans], kind="stable").tolist():
        span = int(spans[at])
        queue = waiting.get(_kind(word[span]), [])
        if queue and table.start[queue[-1]] <= table.start[span]:
            found[at] = queue.pop()
    return found


def _as_many(spans: I64, ops: I64, word: dict[int, str]) -> npt.NDArray[np.bool_]:
    """Spans of kinds of which there are as many spans as operators."""
    kinds = [_kind(word[span]) for span in spans.tolist()]
    spent, asked = Counter(kinds), Counter(_kind(word[op]) for op in ops.tolist())
    return np.array([spent[kind] == asked[kind] for kind in kinds], dtype=np.bool_)


def _kind(word: str) -> str:
    """Gloo does a reduce-scatter as a whole all-reduce."""
    return "all_reduce" if word == "reduce_scatter" else word


def side_by_side(start: I64, end: I64) -> list[int]:
    """A lane number for each span such that no two on one lane overlap, as few as possible."""
    lanes = [0] * len(start)
    free: list[tuple[int, int]] = []
    for at in np.lexsort((end, start)).tolist():
        lane = heapq.heappop(free)[1] if free and free[0][0] <= start[at] else len(free)
        lanes[at] = lane
        heapq.heappush(free, (int(end[at]), lane))
    return lanes
