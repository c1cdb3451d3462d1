"""Aligns two sequences, keeping order: the longest common subsequence, found when few items differ.

Myers, "An O(ND) difference algorithm" (1986): walk the diagonals of the comparison table, one more
difference at a time. Runs of equal items are crossed in one stride, so the cost grows with the
differences and not with the length.
"""

import numpy as np

from paceline.model import I64


def aligned(reference: I64, other: I64, most: int) -> I64 | None:
    """For each item of `other` its place in `reference`, or -1; None if more than `most` differ."""
    shorter = min(len(reference), len(other))
    head = _equal(reference[:shorter], other[:shorter])
    rest = shorter - head
    tail = _equal(reference[len(reference) - rest :][::-1], other[len(other) - rest :][::-1])
    runs = _Table(reference[head : len(reference) - tail], other[head : len(other) - tail]).runs(
        most
    )
    if runs is None:
        return None
    place = np.full(len(other), -1, dtype=np.int64)
    place[:head] = np.arange(head)
    place[len(other) - tail :] = np.arange(len(reference) - tail, len(reference))
    for there, at, length in runs:
        place[head + at : head + at + length] = head + there + np.arange(length)
    return place


def _equal(a: I64, b: I64) -> int:
    """How many items are equal before the first that differs."""
    unequal = np.flatnonzero(a != b)
    return int(unequal[0]) if len(unequal) else len(a)


class _Table:
    """The comparison of every item of `a` with every item of `b`, seen along its diagonals."""

    def __init__(self, a: I64, b: I64) -> None:
        self.a, self.b = a, b
        self.breaks: dict[int, I64] = {}

    def runs(self, most: int) -> list[tuple[int, int, int]] | None:
        """The equal runs of a shortest edit: place in a, place in b, length."""
        goal = len(self.a) - len(self.b)
        reach: dict[int, int] = {1: 0}
        history: list[dict[int, int]] = []
        for differences in range(min(most, len(self.a) + len(self.b)) + 1):
            history.append(reach)
            following = dict(reach)
            for diagonal in range(-differences, differences + 1, 2):
                x, _ = _entered(reach, diagonal, differences)
                following[diagonal] = x + self._stride(x, diagonal)
            reach = following
            if reach.get(goal, -1) >= len(self.a):
                return self._traced(history, goal)
        return None

    def _stride(self, x: int, diagonal: int) -> int:
        """How many items are equal from `a[x]` and `b[x - diagonal]` on."""
        if x > len(self.a) or x - diagonal > len(self.b):
            return 0
        if diagonal not in self.breaks:
            first, last = max(0, diagonal), min(len(self.a), len(self.b) + diagonal)
            differs = self.a[first:last] != self.b[first - diagonal : last - diagonal]
            self.breaks[diagonal] = np.append(np.flatnonzero(differs) + first, last)
        stops = self.breaks[diagonal]
        return int(stops[np.searchsorted(stops, x)]) - x

    def _traced(self, history: list[dict[int, int]], diagonal: int) -> list[tuple[int, int, int]]:
        """Back along the path that reached the end first."""
        runs: list[tuple[int, int, int]] = []
        x = len(self.a)
        for differences in range(len(history) - 1, -1, -1):
            reach = history[differences]
            entered, came = _entered(reach, diagonal, differences)
            if x > entered:
                runs.append((entered, entered - diagonal, x - entered))
            x, diagonal = reach[came], came
        return runs


def _entered(reach: dict[int, int], diagonal: int, differences: int) -> tuple[int, int]:
    """Where the furthest path enters a diagonal, one difference more, and from which diagonal."""
    insert = diagonal == -differences or (
        diagonal != differences and reach[diagonal - 1] < reach[diagonal + 1]
    )
    return (
        (reach[diagonal + 1], diagonal + 1) if insert else (reach[diagonal - 1] + 1, diagonal - 1)
    )
