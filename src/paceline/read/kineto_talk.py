"""What a trace says of its collectives and messages: which one, in which group, how large.

Three places say it, depending on the version: the annotation of the backend (`nccl:all_reduce`,
with the shapes of its inputs), the operator `record_param_comms` around it (named fields in newer
files; the sequence among the inputs in older ones), and the kernel itself. What an inner one does
not say, the one around it may.
"""

import re
from array import array
from typing import Any, cast

from paceline.model import Group
from paceline.read.kineto_event import Number, TalkArgs, text_of
from paceline.read.kineto_names import Role, algorithm, bytes_of, collective, of_kernel

_LIST = re.compile(r"\[?\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*\]?", re.ASCII)
_FIRST_NUMBER = re.compile(r"\(?\s*(\d{1,18})(?![\d.])", re.ASCII)
_ARROW = re.compile(r"\s\d{1,7}\s*(?:->|<-)\s*(\d{1,7})$", re.ASCII)
_MOST = 2**62
_MOST_RANKS = 2**31
_PARAMS, _C10D, _TALKING = int(Role.PARAMS), int(Role.C10D), int(Role.TALKING)
_MESSAGES = ("send", "recv")


class Talks:
    """Rows that describe communication; -1 (or no word) for what a row does not say."""

    def __init__(self) -> None:
        self.row, self.size_bytes, self.sequence = array("q"), array("q"), array("q")
        self.group, self.peer, self._member = array("i"), array("i"), array("i")
        self.word: list[str] = []
        self.algorithm: list[str] = []
        self._of_kernel: list[str] = []
        self._names: dict[str, tuple[str, str, str, int]] = {}
        self._groups: dict[str, int] = {}
        self._members: list[tuple[int, ...] | None] = []

    def __len__(self) -> int:
        return len(self.row)

    def add(self, row: int, name: str, role: int, args: TalkArgs) -> None:
        """Takes down what one row says; `role` is that of its name."""
        word, kernel, algorithm, member = self._names.get(name) or self._named(name, role)
        if args.collective:
            word = collective(text_of(args.collective))
        inputs = args.inputs or []
        sequence = _whole(args.sequence)
        if role == _PARAMS and sequence < 0 and len(inputs) > 1:
            sequence = _first_number(inputs[1])
        if role == _C10D and word in _MESSAGES and len(inputs) > 2:
            member = _rank(_first_number(inputs[2]))
        group = text_of(args.group)
        self.row.append(row)
        self.word.append(word)
        self._of_kernel.append(kernel)
        self.algorithm.append(algorithm)
        self.size_bytes.append(-1 if role == _C10D else _size(args, role == _PARAMS))
        self.sequence.append(sequence)
        self.group.append(self.know(group, _ranks(args)) if group else -1)
        self.peer.append(_rank(args.target if word == "send" else args.source))
        self._member.append(member)

    def _named(self, name: str, role: int) -> tuple[str, str, str, int]:
        """What the name alone says: a word, the kernel's word, its algorithm, the other member."""
        arrow = _ARROW.search(name)
        self._names[name] = (
            "" if role in (_PARAMS, _TALKING) else collective(name),
            of_kernel(name) if role == _TALKING else "collective",
            algorithm(name) or "" if role == _TALKING else "",
            int(arrow[1]) if arrow else -1,
        )
        return self._names[name]

    def know(self, name: str, members: tuple[int, ...] | None) -> int:
        """The position of a group, whose members stay once they are known."""
        at = self._groups.setdefault(name, len(self._groups))
        if at == len(self._members):
            self._members.append(members)
        elif self._members[at] is None:
            self._members[at] = members
        return at

    def groups(self) -> tuple[Group, ...]:
        """All groups, in order of position."""
        named = zip(self._groups, self._members, strict=True)
        return tuple(Group(name=name, members=members) for name, members in named)

    def inherit(self, inner: int, outer: int) -> None:
        """What the inner one does not say is taken from the one around it."""
        self.word[inner] = self.word[inner] or self.word[outer]
        for column in (self.size_bytes, self.sequence, self.group, self.peer, self._member):
            if column[inner] < 0:
                column[inner] = column[outer]

    def settle(self) -> None:
        """Completes what nothing said: the word from the kernel, the peer from its place.

        Without a group the place is the rank; where the members are not known, so is the peer.
        """
        self.word = [
            word or kernel for word, kernel in zip(self.word, self._of_kernel, strict=True)
        ]
        for at, word in enumerate(self.word):
            if word not in _MESSAGES:
                self.peer[at] = -1
            elif self.peer[at] < 0:
                group, member = self.group[at], self._member[at]
                members = self._members[group] if group >= 0 else None
                if group < 0:
                    self.peer[at] = member
                elif members and 0 <= member < len(members):
                    self.peer[at] = members[member]


def _size(args: TalkArgs, first_only: bool) -> int:
    """Bytes that this worker puts in: elements times their size, or the shapes of the inputs."""
    each = bytes_of(text_of(args.dtype))
    elements = _whole(args.elements)
    if each and elements >= 0:
        return elements * each if elements < _MOST // each else -1
    dims, types = args.dims or [], args.types or []
    sizes = [_tensor(*pair) for pair in zip(dims, types, strict=False)]
    known = [size for size in (sizes[:1] if first_only else sizes) if size >= 0]
    return sum(known) if known and sum(known) < _MOST else -1


def _tensor(shape: object, dtype: object) -> int:
    size = bytes_of(dtype) if isinstance(dtype, str) else None
    if size is None or not isinstance(shape, list):
        return -1
    for length in cast(list[Any], shape):
        if not isinstance(length, int) or length < 0 or size > _MOST:
            return -1
        size *= length
    return size


def _ranks(args: TalkArgs) -> tuple[int, ...] | None:
    """The members of a group, None if the list is missing or elided."""
    size = _whole(args.group_size)
    if isinstance(args.ranks, list):
        ranks = tuple(args.ranks)
    elif args.ranks and (found := _LIST.fullmatch(args.ranks.strip())):
        ranks = tuple(int(rank) for rank in found[1].split(","))
    elif 0 < size < 2**20 and (stride := _whole(args.stride)) > 0 <= _rank(args.first_rank):
        first = _rank(args.first_rank)
        ranks = tuple(range(first, first + size * stride, stride))
    else:
        return None
    usable = all(0 <= rank < _MOST_RANKS for rank in ranks) and (size in (-1, len(ranks)))
    return ranks if ranks and usable else None


def _rank(value: Number) -> int:
    rank = _whole(value)
    return rank if rank < _MOST_RANKS else -1


def _whole(value: Number) -> int:
    """The number if it is one, whole and not negative; -1 otherwise."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < _MOST else -1


def _first_number(value: object) -> int:
    found = _FIRST_NUMBER.match(value) if isinstance(value, str) else None
    return int(found[1]) if found else -1
