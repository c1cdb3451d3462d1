"""New works for collectives whose size changed: added to the table, each once a worker and step."""

from collections import defaultdict

import msgspec

from paceline.model import Graph, Work

_Like = tuple[object, ...]


class NewWorks:
    """Collects works behind those of a graph; `occurrence` counts on from what is there."""

    def __init__(self, graph: Graph) -> None:
        self._works = list(graph.works)
        self._position = {work: at for at, work in enumerate(graph.works)}
        self._next: dict[_Like, int] = defaultdict(int)
        for work in graph.works:
            like = _like(work)
            self._next[like] = max(self._next[like], work.occurrence + 1)
        self._used: dict[tuple[int, _Like], int] = defaultdict(int)

    def add(self, group: int, like: Work) -> int:
        """The position of a work of which the members of a group do this one more."""
        key = _like(like)
        work = msgspec.structs.replace(like, occurrence=self._next[key] + self._used[group, key])
        self._used[group, key] += 1
        if work not in self._position:
            self._position[work] = len(self._works)
            self._works.append(work)
        return self._position[work]

    @property
    def table(self) -> tuple[Work, ...]:
        """All works, the old ones in their places."""
        return tuple(self._works)


def _like(work: Work) -> _Like:
    return (work.name, work.kind, work.phase, work.layer, work.size_bytes, work.algorithm)
