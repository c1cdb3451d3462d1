"""What the lines of a native file that are no events say: groups, facts, pings, norms, notes.

They are checked against the header and against each other as they come, and asked for by worker
when the traces are put together.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from paceline.model import Facts, InputError, Norms, Note, Ping, no_norms
from paceline.read.native_line import (
    FactsLine,
    GroupLine,
    Header,
    NormsLine,
    NormsOf,
    OtherLine,
    PingLine,
)

Members: TypeAlias = tuple[int, ...] | None


class Declared:
    """What the lines without events say of each worker."""

    def __init__(self, header: Header, where: object) -> None:
        self.header, self.where = header, where
        self.groups: dict[tuple[int | None, str], Members] = {}
        self.facts: dict[int, Facts] = {}
        self.pings: dict[int, list[Ping]] = defaultdict(list)
        self.norms: dict[int, list[tuple[int, NormsOf]]] = defaultdict(list)
        self.notes: dict[int, list[Note]] = defaultdict(list)

    def add(self, number: int, line: OtherLine) -> None:
        """Takes one line; `number` is for messages."""
        if isinstance(line, GroupLine):
            self._add_group(number, line)
            return
        self._check_ranks(number, (line.worker,))
        if isinstance(line, FactsLine):
            self._add_facts(line)
        elif isinstance(line, PingLine):
            self._check_ranks(number, (line.ping.peer,))
            self.pings[line.worker].append(Ping(**msgspec.structs.asdict(line.ping)))
        elif isinstance(line, NormsLine):
            self.norms[line.worker].append((line.step, line.norms))
        else:
            self.notes[line.worker].append(Note(**msgspec.structs.asdict(line.note)))

    def workers(self) -> set[int]:
        """All workers that are declared by a line of their own."""
        return {*self.facts, *self.pings, *self.norms, *self.notes}

    def facts_of(self, worker: int) -> Facts:
        """What is known of a worker; the header fills in what its own lines leave out."""
        own = self.facts.get(worker, Facts())
        return msgspec.structs.replace(
            own,
            device=self.header.kind if own.device is None else own.device,
            workers=self.header.workers if own.workers is None else own.workers,
        )

    def norms_of(self, worker: int) -> Norms:
        """The norms of a worker as columns."""
        if worker not in self.norms:
            return no_norms()
        steps = [step for step, _ in self.norms[worker]]
        columns = {
            name: np.array([getattr(norms, name) for _, norms in self.norms[worker]], np.float64)
            for name in ("loss", "local", "average")
        }
        return Norms(step=np.array(steps, np.int64), **columns)

    def groups_by_worker(self) -> dict[int, dict[str, Members]]:
        """The declared groups that each worker belongs to, or declared for itself."""
        own: dict[int, dict[str, Members]] = defaultdict(dict)
        for (worker, name), members in self.groups.items():
            for rank in (members or ()) if worker is None else (worker,):
                # what a worker declares for itself outweighs what is declared for all
                if worker is not None or (rank, name) not in self.groups:
                    own[rank][name] = members
        return own

    def _add_group(self, number: int, line: GroupLine) -> None:
        members = line.members
        self._check_ranks(number, members or ())
        self._check_ranks(number, () if line.worker is None else (line.worker,))
        if members is not None and len(set(members)) != len(members):
            raise self._wrong(number, f"names a worker of group {line.group!r} twice")
        old = self.groups.setdefault((line.worker, line.group), members)
        if old != members:
            raise self._wrong(number, f"declares group {line.group!r} again with other members")

    def _add_facts(self, line: FactsLine) -> None:
        given = {key: v for key, v in msgspec.structs.asdict(line.facts).items() if v is not None}
        old = self.facts.get(line.worker, Facts())
        self.facts[line.worker] = msgspec.structs.replace(old, **given)

    def _check_ranks(self, number: int, ranks: Sequence[int]) -> None:
        top = self.header.workers
        for rank in ranks:
            if top is not None and rank >= top:
                raise self._wrong(number, f"names worker {rank}, but the header has {top} workers")

    def _wrong(self, number: int, found: str) -> InputError:
        return InputError(
            f"line {number} {found}.", where=self.where, cure="Correct it, or record again."
        )
