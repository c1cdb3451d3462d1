"""A name for each lane: streams by number, threads by the names they were given.

Two threads of one name stay two lanes. Spans that do not run where they are booked (see
`kineto_gloo`) move to lanes of their own.
"""

from collections import Counter

import numpy as np

from paceline.model import I32, I64, U8, Kind
from paceline.read.kineto_gloo import side_by_side
from paceline.read.kineto_keys import Thread
from paceline.read.kineto_names import Cat
from paceline.read.kineto_table import Table

_AWAY = {Kind.COLLECTIVE: "gloo", Kind.SEND: "gloo send", Kind.RECV: "gloo recv"}


def lanes(
    table: Table, threads: tuple[Thread, ...], titles: dict[int, str], away: tuple[I64, U8]
) -> tuple[I32, list[str]]:
    """The lane of each row, and the names of all lanes; `away` are rows that move, with kinds."""
    names = _thread_names(table, threads, titles)
    lane = table.thread.copy()
    rows, kinds = away
    for kind, name in _AWAY.items():
        own = rows[kinds == kind]
        side = np.array(side_by_side(table.start[own], table.end(own)), dtype=np.int32)
        lane[own] = len(names) + side
        names += [_free(name, at, names) for at in range(int(side.max(initial=-1)) + 1)]
    return lane, names


def _free(name: str, at: int, taken: list[str]) -> str:
    own = name if at == 0 else f"{name} {at + 1}"
    return own if own not in taken else f"{own} (lane {len(taken)})"


def _thread_names(table: Table, threads: tuple[Thread, ...], titles: dict[int, str]) -> list[str]:
    used: list[int] = np.unique(table.thread[table.cat >= Cat.KERNEL]).tolist()
    streams = set(used)
    several = len({threads[at][0] for at in streams}) > 1
    names: list[str] = []
    for at, (process, thread) in enumerate(threads):
        if at in streams:
            stream = thread if isinstance(thread, str) else f"stream {thread}"
            names.append(f"gpu {process} {stream}" if several else stream)
        else:
            names.append(titles.get(at) or f"thread {thread}")
    count = Counter(names)
    return [
        f"{name} (process {process}, thread {thread})" if count[name] > 1 else name
        for name, (process, thread) in zip(names, threads, strict=True)
    ]
