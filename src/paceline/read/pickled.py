"""Plain data out of a pickle, without running any of it.

A pickle is a program for a stack machine. This interpreter knows only the instructions that build
dicts, lists, tuples, texts, bytes, numbers, truth values and None, with memo, frames and marks.
Every other one, each of which could import or call something, is refused by its name. Values may
be shared but not nest in themselves, and what they would unfold to is bounded.
"""

import pickletools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

from paceline.model import InputError

MOST_STEPS = 10_000_000
MOST_VALUES = 10_000_000  # of the result, shared ones counted each time
_MOST_BITS = 128

Stack: TypeAlias = list[Any]
_MARK: Any = object()


class _Machine:
    """Stack and memo of one pickle; instructions raise IndexError, KeyError or ValueError."""

    def __init__(self) -> None:
        self.stack: Stack = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        """A value as the instruction holds it."""
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise ValueError("a number is too large")
        self.stack.append(value)

    def popped(self) -> Any:
        """The value on top, which may be no mark."""
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark stands where a value is needed")
        return value

    def marked(self) -> Stack:
        """All values above the last mark."""
        stack = self.stack
        at = len(stack) - 1
        while stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise ValueError("a mark is missing")
        values = stack[at + 1 :]
        del stack[at:]
        return values

    def top(self, kind: type) -> Any:
        """The container on top."""
        if type(self.stack[-1]) is not kind:
            raise ValueError(f"a {kind.__name__} is needed")
        return self.stack[-1]

    def put(self, at: int) -> None:
        """Remembers the value on top."""
        if self.stack[-1] is _MARK:
            raise ValueError("a mark cannot be remembered")
        self.memo[at] = self.stack[-1]

    def fill(self, pairs: Stack) -> None:
        """Puts keys and values, one after the other, into the dict on top."""
        into = cast(dict[str, Any], self.top(dict))
        if len(pairs) % 2:
            raise ValueError("a key lacks its value")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            # other keys could be made to collide, or be costly to hash
            if type(key) is not str:
                raise ValueError("a key is no text")
            into[key] = value

    def tuple_of(self, count: int) -> None:
        """A tuple of the values on top."""
        values = [self.popped() for _ in range(count)]
        self.stack.append(tuple(reversed(values)))

    def dict_of(self, pairs: Stack) -> None:
        """A dict of keys and values, one after the other."""
        self.stack.append({})
        self.fill(pairs)

    def mark(self) -> None:
        """Begins a run of values."""
        self.stack.append(_MARK)

    def remember(self) -> None:
        """Remembers the value on top under the next number."""
        self.put(len(self.memo))

    def recall(self, at: int) -> None:
        """The remembered value, once more."""
        self.stack.append(self.memo[at])

    def append(self) -> None:
        """The value on top goes into the list below it."""
        value = self.popped()
        self.top(list).append(value)

    def extend(self) -> None:
        """The values above the mark go into the list below it."""
        values = self.marked()
        self.top(list).extend(values)

    def set_item(self) -> None:
        """Key and value on top go into the dict below them."""
        value, key = self.popped(), self.popped()
        self.fill([key, value])

    def set_items(self) -> None:
        """Keys and values above the mark go into the dict below it."""
        pairs = self.marked()
        self.fill(pairs)


_PLAIN: dict[str, Callable[[_Machine], None]] = {
    "MARK": _Machine.mark,
    "NONE": lambda machine: machine.push(None),
    "NEWTRUE": lambda machine: machine.push(True),
    "NEWFALSE": lambda machine: machine.push(False),
    "EMPTY_LIST": lambda machine: machine.push([]),
    "EMPTY_DICT": lambda machine: machine.push({}),
    "EMPTY_TUPLE": lambda machine: machine.push(()),
    "LIST": lambda machine: machine.push(machine.marked()),
    "DICT": lambda machine: machine.dict_of(machine.marked()),
    "TUPLE": lambda machine: machine.push(tuple(machine.marked())),
    "TUPLE1": lambda machine: machine.tuple_of(1),
    "TUPLE2": lambda machine: machine.tuple_of(2),
    "TUPLE3": lambda machine: machine.tuple_of(3),
    "APPEND": _Machine.append,
    "APPENDS": _Machine.extend,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "MEMOIZE": _Machine.remember,
}
_WITH_ARGUMENT: dict[str, Callable[[_Machine, Any], None]] = {
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Machine.put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.recall),
    **dict.fromkeys(
        (
            "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
            "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE",
            "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
        ),
        _Machine.push,
    ),
}  # fmt: skip
_NOTHING = ("PROTO", "FRAME", "STOP")


def data_of(raw: bytes, where: Path, depth: int) -> object:
    """The value that a pickle of plain data describes."""
    machine = _Machine()
    try:
        with warnings.catch_warnings():  # escapes of old texts that Python will refuse one day
            warnings.simplefilter("ignore", DeprecationWarning)
            _run(machine, raw, where)
        value = machine.popped()
        _check(value, depth)
    except (IndexError, KeyError) as error:
        raise _broken("a value is missing", where) from error
    except (ValueError, OverflowError) as error:
        raise _broken(str(error), where) from error
    if machine.stack:
        raise _broken("values are left over", where)
    return value


def _run(machine: _Machine, raw: bytes, where: Path) -> None:
    place = None
    for count, (opcode, argument, place) in enumerate(pickletools.genops(raw)):
        name = opcode.name
        if name in _PLAIN:
            _PLAIN[name](machine)
        elif name in _WITH_ARGUMENT:
            _WITH_ARGUMENT[name](machine, argument)
        elif name not in _NOTHING:
            raise _refused(name, place, where)
        if count > MOST_STEPS:
            raise ValueError(f"it has more than {MOST_STEPS:,} instructions")
    if place != len(raw) - 1:
        raise ValueError("it goes on after its end")


def _broken(why: str, where: Path) -> InputError:
    return InputError(f"is a broken pickle ({why}).", where=where, cure="Dump it again.")


def _refused(name: str, place: int | None, where: Path) -> InputError:
    return InputError(
        f"holds the pickle instruction {name} (byte {place or 0:,}), which could run a program.",
        where=where,
        expected="A dump holds plain data only, and nothing of this file was run.",
        cure="Do not trust where it came from.",
    )


def _check(value: object, depth: int) -> None:
    """ValueError for a value that nests too deeply, in itself, or unfolds to too many values.

    Each container is measured once: by then all in it have been.
    """
    sizes: dict[int, tuple[int, int]] = {}  # of containers by id: values in all, levels
    open_now: set[int] = set()
    path: list[tuple[Any, bool]] = [(value, False)]
    while path:
        own, left = path.pop()
        inner = _inner(own)
        if inner is None or id(own) in sizes:
            continue
        if not left:
            if id(own) in open_now:
                raise ValueError("a value lies in itself")
            open_now.add(id(own))
            path.append((own, True))
            path += [(part, False) for part in inner if id(part) not in sizes]
            continue
        open_now.discard(id(own))
        measured = [sizes.get(id(part), (1, 0)) for part in inner]
        sizes[id(own)] = (
            1 + sum(count for count, _ in measured),
            1 + max((levels for _, levels in measured), default=0),
        )
        if sizes[id(own)][0] > MOST_VALUES:
            raise ValueError(f"it unfolds to more than {MOST_VALUES:,} values")
        if sizes[id(own)][1] > depth:
            raise ValueError(f"it nests deeper than {depth} levels")


def _inner(value: object) -> list[Any] | None:
    """What lies in a container, None for anything else."""
    if isinstance(value, dict):
        return list(cast(dict[str, Any], value).values())
    if isinstance(value, (list, tuple)):
        return list(cast(list[Any], value))
    return None
