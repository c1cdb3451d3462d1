"""How many exchanges of a kind each op comes after: compiled.

Walks the graph once, each op after all that it waits for. An op's level is the largest number of
counted ops on any way to it of which the next op needs the result; merely running behind one on a
lane does not count. So exchanges of one level may become one, and nothing waits for itself.
"""

import numba
import numpy as np

from paceline.model import I32, I64, U8


@numba.njit(cache=True)
def _turned(starts: I64, flat: I32, count: int) -> tuple[I64, I32]:
    """Who waits for each op, from whom each op waits for."""
    out_from = np.zeros(count + 1, dtype=np.int64)
    for target in flat:
        out_from[target + 1] += 1
    for op in range(count):
        out_from[op + 1] += out_from[op]
    free = out_from[:-1].copy()
    out = np.empty(len(flat), dtype=np.int32)
    for op in range(count):
        for at in range(starts[op], starts[op + 1]):
            out[free[flat[at]]] = op
            free[flat[at]] += 1
    return out_from, out


@numba.njit(cache=True)
def _pass_on(  # noqa: PLR0917 - compiled functions take no keywords
    op: int, out_from: I64, out_op: I32, behind: I32, counted: U8,
    level: I32, need: I64, ready: I32, count: int,
) -> int:  # fmt: skip
    """Tells those behind an op that it has ended; how many ops are ready then."""
    for at in range(out_from[op], out_from[op + 1]):
        next_op = out_op[at]
        level[next_op] = max(level[next_op], level[op] + counted[op])
        need[next_op] -= 1
        if need[next_op] == 0:
            ready[count] = next_op
            count += 1
    for row in range(len(behind)):
        next_op = behind[row, op]
        if next_op >= 0:
            level[next_op] = max(level[next_op], level[op])
            need[next_op] -= 1
            if need[next_op] == 0:
                ready[count] = next_op
                count += 1
    return count


@numba.njit(cache=True)
def levels(  # noqa: PLR0917 - compiled functions take no keywords
    after_from: I64, after_op: I32, behind: I32, match: I32,
    match_from: I64, match_op: I32, counted: U8,
) -> I32:  # fmt: skip
    """The level of each op, -1 for ops that wait for themselves or for such.

    `behind` has rows of one op (or -1) that comes behind each op without needing its result;
    `match` is the match of a collective, whose ops are those of that ragged row.
    """
    ops = len(match)
    out_from, out_op = _turned(after_from, after_op, ops)
    need = np.diff(after_from)
    for row in range(len(behind)):
        for op in range(ops):
            if behind[row, op] >= 0:
                need[behind[row, op]] += 1
    awaited = np.diff(match_from)
    level = np.zeros(ops, dtype=np.int32)
    done = np.zeros(ops, dtype=np.bool_)
    ready = np.flatnonzero(need == 0).astype(np.int32)
    count = len(ready)
    ready = np.append(ready, np.empty(ops - count, dtype=np.int32))
    while count > 0:
        count -= 1
        op = ready[count]
        one = match[op]
        if one < 0:
            done[op] = True
            count = _pass_on(op, out_from, out_op, behind, counted, level, need, ready, count)
            continue
        awaited[one] -= 1
        if awaited[one] > 0:
            continue
        members = match_op[match_from[one] : match_from[one + 1]]
        level[members] = level[members].max()
        for member in members:
            done[member] = True
            count = _pass_on(member, out_from, out_op, behind, counted, level, need, ready, count)
    level[~done] = -1
    return level
