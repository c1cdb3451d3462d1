"""Gives lanes that play the same part on several workers the same name.

Threads are known by numbers that differ from worker to worker and from run to run. The lane of the
first worker that computes longest is "main", the others are "thread 1", "thread 2", … by first use;
a lane of another worker takes the name of the one that does the same things. Other lanes, such as
"stream 7", keep their names.
"""

import itertools
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paceline.model import F64, I64
from paceline.stitch.flatten import Pieces

_NUMBERED = re.compile(r"thread \d+( \(.*\))?")  # the number, and what the system calls it
_MOST = 64  # threads of one worker that are compared with those of others
_ALIKE = 0.5  # overlap of what two lanes do, from which on they play the same part


def named(
    pieces: Sequence[Pieces], keys: Sequence[I64], talks: Sequence[npt.NDArray[np.bool_]]
) -> tuple[tuple[str, ...], list[I64]]:
    """All lane names of the job, and for each worker the position of each of its lanes.

    `keys` says what each piece does, `talks` whether it is communication.
    """
    table: dict[str, int] = {}
    parts: dict[str, F64] = {}
    kinds = max((int(own.max(initial=-1)) for own in keys), default=-1) + 1
    numbers: list[I64] = []
    for own, key, talk in zip(pieces, keys, talks, strict=True):
        names = list(own.lanes)
        used = [int(lane) for lane in np.unique(own.lane)]
        unknown = [lane for lane in used if _NUMBERED.fullmatch(names[lane])]
        taken = {*parts, *(names[lane] for lane in used if lane not in unknown)}
        doing = _doing(own, key, unknown[:_MOST], kinds)
        given = _recognized(unknown[:_MOST], doing, parts)
        given |= _new(own, talk, [lane for lane in unknown if lane not in given], taken)
        for lane, name in given.items():
            names[lane] = name
        for lane, does in zip(unknown, doing, strict=False):
            parts.setdefault(names[lane], does)
        numbers.append(np.array([table.setdefault(name, len(table)) for name in names]))
    return tuple(table), numbers


def _doing(own: Pieces, key: I64, lanes: Sequence[int], kinds: int) -> F64:
    """The share of each key in a lane's pieces, as square roots: the product of two is overlap."""
    out = np.zeros((len(lanes), kinds))
    for row, lane in enumerate(lanes):
        out[row] = np.bincount(key[own.lane == lane], minlength=kinds)
    return np.sqrt(out / np.maximum(out.sum(axis=1, keepdims=True), 1))


def _recognized(lanes: Sequence[int], doing: F64, parts: dict[str, F64]) -> dict[int, str]:
    """The known part of each lane, the most alike first; each part is played once."""
    if not lanes or not parts:
        return {}
    names = list(parts)
    alike = np.round(doing @ np.stack([parts[name] for name in names]).T, 3)
    given: dict[int, str] = {}
    # equally alike lanes keep their order
    for pair in np.argsort(-alike, axis=None, kind="stable"):
        row, part = divmod(int(pair), len(names))
        if alike[row, part] < _ALIKE:
            break
        if lanes[row] not in given and names[part] not in given.values():
            given[lanes[row]] = names[part]
    return given


def _new(
    own: Pieces, talk: npt.NDArray[np.bool_], lanes: Sequence[int], taken: set[str]
) -> dict[int, str]:
    """Names for lanes that play no known part: the busiest is main, if no lane is yet."""
    if not lanes:
        return {}
    count = len(own.lanes)
    busy = np.zeros(count, dtype=np.int64)
    np.add.at(busy, own.lane, np.where(talk, 0, own.end_ns - own.start_ns))
    began = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(began, own.lane, own.start_ns)
    given: dict[int, str] = {}
    if "main" not in taken:
        given[max(lanes, key=lambda lane: (busy[lane], -began[lane]))] = "main"
    free = (f"thread {number}" for number in itertools.count(1))
    for lane in sorted(lanes, key=lambda lane: (began[lane], lane)):
        if lane not in given:
            given[lane] = next(name for name in free if name not in taken)
    return given
