"""The best order-preserving pairing of two sequences: compiled, within a band.

Longest common subsequence with weights: equal names weigh 1.25, equal sizes .25 more, and what lies
apart in time weighs less, down to being refused. Among equals the pairing from the end wins.
"""

import numba
import numpy as np

from paceline.model import F64, I64, U8

SETTLED = -2  # names at or below it stand for rows whose partners are already known
_NEVER = -1e300
_UP, _LEFT, _PAIR = 0, 1, 2


@numba.njit(cache=True)
def _weight(
    name_a: int, name_b: int, same_size: bool, apart: float
) -> float:  # pragma: no cover - compiled
    if name_a != name_b:
        return _NEVER
    if name_a <= SETTLED:
        return 2.0
    weight = 1.25 + (0.25 if same_size else 0.0)
    if not np.isnan(apart):  # else the time of one is not known
        weight -= min(apart, 2.0)
    return weight if weight > 0 else _NEVER


@numba.njit(cache=True)
def _low(i: int, shift: int, half: int, room: int) -> int:  # pragma: no cover - compiled
    return min(max(0, i - shift - half), room)


@numba.njit(cache=True)
def _table(  # noqa: PLR0917 - compiled functions take no keywords
    name_a: I64, name_b: I64, size_a: I64, size_b: I64, end_a: F64, end_b: F64,
    scale: float, shift: int, half: int, width: int,
) -> U8:  # fmt: skip  # pragma: no cover - compiled
    n, m = len(name_a), len(name_b)
    turn = np.zeros((n + 1, width + 1), dtype=np.uint8)
    before = np.zeros(width + 1)
    now = np.zeros(width + 1)
    low_before = _low(0, shift, half, m - width)
    for i in range(1, n + 1):
        low = _low(i, shift, half, m - width)
        for k in range(width + 1):
            j = low + k
            above = j - low_before
            best, choice = _NEVER, _UP
            if above <= width:
                best = before[above]
            if k > 0 and now[k - 1] > best:
                best, choice = now[k - 1], _LEFT
            if j > 0 and above >= 1 and above - 1 <= width:
                apart = abs(end_a[i - 1] - end_b[j - 1]) / scale
                same = size_a[i - 1] == size_b[j - 1]
                pair = before[above - 1] + _weight(name_a[i - 1], name_b[j - 1], same, apart)
                if pair >= best:
                    best, choice = pair, _PAIR
            now[k] = best
            turn[i, k] = choice
        before, now = now, before
        low_before = low
    return turn


@numba.njit(cache=True)
def paired(  # noqa: PLR0917
    name_a: I64, name_b: I64, size_a: I64, size_b: I64, end_a: F64, end_b: F64,
    scale: float, shift: int, half: int,
) -> tuple[I64, I64]:  # fmt: skip  # pragma: no cover - compiled
    """Positions in a and in b of the pairs, from the last to the first.

    Row i of a is compared with rows of b within `half` of i - `shift`.
    """
    n, m = len(name_a), len(name_b)
    width = min(m, 2 * half + 1)
    turn = _table(
        name_a, name_b, size_a, size_b, end_a, end_b, scale, shift, half, width
    )  # fmt: skip
    at_a = np.empty(min(n, m), dtype=np.int64)
    at_b = np.empty(min(n, m), dtype=np.int64)
    count = 0
    i = n
    j = _low(n, shift, half, m - width) + width
    while i > 0 and j > 0:
        choice = turn[i, j - _low(i, shift, half, m - width)]
        if choice == _PAIR:
            i, j = i - 1, j - 1
            at_a[count], at_b[count] = i, j
            count += 1
        elif choice == _LEFT:
            j -= 1
        else:
            i -= 1
    return at_a[:count], at_b[:count]
