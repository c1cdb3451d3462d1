"""A JSON document whose one large array streams by in pieces; what else it holds is kept.

The idea: guess where an element ends and let the decoder prove it. JSON is deterministic, so if
`[piece]` decodes, the cut lies between two elements. Where a guess fails the exact structure of
the piece decides, and if a piece then still does not decode, its elements are read one by one.
Of a key that comes twice the last value wins.
"""

import re
from collections.abc import Iterator, Sized
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from paceline.read.json_cursor import PIECE, BrokenOffError, JsonCursor, after_space
from paceline.read.json_structure import deeper_than, structure
from paceline.read.opened import Opened

_TRUNCATED = "Input data was truncated"
_MALFORMED = re.compile(r"\(byte (\d+)\)$")
_TRIES = 64


class Element(NamedTuple):
    """One element by itself: its bytes, its number in the array, where it begins in the file."""

    raw: bytes
    number: int
    offset: int


Batch = TypeVar("Batch", bound=Sized)
Batch_co = TypeVar("Batch_co", bound=Sized, covariant=True)


class Elements(Protocol[Batch_co]):
    """What a format does with the elements of its array."""

    def anew(self) -> None:
        """The array starts; a second time if its key comes twice, and then only that one counts."""
        ...

    def decode(self, piece: bytes) -> Batch_co:
        """The elements of `[piece]`; may raise the decoding errors of msgspec and of Unicode."""
        ...

    def one_by_one(self, elements: list[Element]) -> Batch_co:
        """The same for elements that did not decode together: finds a way, or raises InputError."""
        ...


class Pieces(Generic[Batch]):
    """Streams the array under `key` (or the document itself, if that is an array).

    After the last batch, `fields` has the raw values of the keys in `keep`, and `broken_off` is
    the number of bytes read if the file ends inside the document.
    """

    def __init__(
        self, opened: Opened, key: str, keep: frozenset[str], elements: Elements[Batch]
    ) -> None:
        self.fields: dict[str, bytes] = {}
        self.broken_off: int | None = None
        self._cursor = JsonCursor(opened)
        self._key, self._keep, self._read = key, keep, elements
        self._depth = opened.caps.depth  # what is left inside the array
        self._count = 0

    def __iter__(self) -> Iterator[Batch]:
        try:
            yield from self._document()
        except BrokenOffError:
            self.broken_off = self._cursor.base + len(self._cursor.data)

    def _document(self) -> Iterator[Batch]:
        cursor = self._cursor
        if cursor.expect(b"[{", "An object or an array is needed.") == b"[":
            self._depth -= 1
            yield from self._array()
        else:
            self._depth -= 2
            cursor.at += 1
            yield from self._object()
        if cursor.peek():
            raise cursor.wrong("goes on after its end", "One JSON document is needed.")

    def _object(self) -> Iterator[Batch]:
        cursor = self._cursor
        while cursor.peek() != b"}":
            key = cursor.key()
            if key == self._key and cursor.peek() == b"[":
                yield from self._array()
            elif key in self._keep:
                self.fields[key] = cursor.value()
                cursor.check(sum(map(len, self.fields.values())))
            else:
                cursor.value()
            if cursor.expect(b",}", "A comma or a closing brace is needed.") == b",":
                cursor.at += 1
        cursor.at += 1

    def _array(self) -> Iterator[Batch]:
        self._cursor.at += 1
        self._count = 0
        self._read.anew()
        done = False
        while not done:
            batch, done = self._next_batch()
            if batch is not None:
                self._count += len(batch)
                yield batch

    def _next_batch(self) -> tuple[Batch | None, bool]:
        """The elements up to the next cut, and whether the array ends there."""
        cursor = self._cursor
        cursor.needs(PIECE)
        cut = None if cursor.ended else self._guess()
        if cut is not None and (batch := self._proven(cut)) is not None:
            cursor.at = cut + 1
            return batch, False
        return self._exact()

    def _guess(self) -> int | None:
        """The last comma that stands like one between two objects."""
        data, start = self._cursor.data, self._cursor.at
        brace = len(data)
        for _ in range(_TRIES):
            brace = data.rfind(b"{", start, brace)
            if brace < 0:
                return None
            before = data[max(start, brace - 64) : brace].rstrip()
            if before.endswith(b",") and before[:-1].rstrip().endswith(b"}"):
                return data.rfind(b",", start, brace)
        return None

    def _proven(self, cut: int) -> Batch | None:
        """The batch up to `cut`, None if what lies there does not decode as whole elements."""
        inside = memoryview(self._cursor.data)[self._cursor.at : cut]
        piece = b"".join((b"[", inside, b"]"))
        if deeper_than(piece, self._depth + 1):
            raise self._cursor.too_deep()
        try:
            return self._read.decode(piece)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        except RecursionError as error:
            raise self._cursor.too_deep() from error

    def _exact(self) -> tuple[Batch | None, bool]:
        """The elements that lie whole in the data, by the exact structure of the piece."""
        cursor = self._cursor
        while True:
            found = structure(cursor.data[cursor.at :])
            if found.deepest > self._depth:
                raise cursor.too_deep()
            if found.end is not None or len(found.commas) or cursor.ended:
                break
            cursor.grow()
        if found.end is None and not len(found.commas):
            return self._last(), True
        stop = cursor.at + (int(found.commas[-1]) if found.end is None else found.end)
        batch = self._proven(stop)
        if batch is None:
            batch = self._read.one_by_one(self._elements(found.commas.tolist(), stop))
        cursor.at = stop + 1
        return batch, found.end is not None

    def _elements(self, commas: list[int], stop: int) -> list[Element]:
        cursor = self._cursor
        elements: list[Element] = []
        start = cursor.at
        for comma in [cursor.at + comma for comma in commas if cursor.at + comma < stop] + [stop]:
            raw = cursor.data[start:comma]
            begin = after_space(raw, 0)
            if begin < len(raw) or comma < stop:  # a comma before the closing bracket is harmless
                number = self._count + len(elements)
                elements.append(Element(raw.strip(), number, cursor.base + start + begin))
            start = comma + 1
        return elements

    def _last(self) -> Batch | None:
        """What follows the last comma of an array that never closes: an element, or part of one."""
        cursor = self._cursor
        rest = cursor.data[cursor.at :]
        if not rest.strip():
            return None
        batch = self._proven(len(cursor.data))
        if batch is None:
            if _breaks_off(rest):
                raise BrokenOffError
            batch = self._read.one_by_one(self._elements([], len(cursor.data)))
        cursor.at = len(cursor.data)
        return batch


def _breaks_off(rest: bytes) -> bool:
    """True if `rest` is the beginning of a valid element: more bytes could complete it."""
    try:
        msgspec.json.decode(rest, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        wrong = _MALFORMED.search(str(error))
        return str(error) == _TRUNCATED or (wrong is not None and int(wrong[1]) >= len(rest))
    except (UnicodeDecodeError, RecursionError):
        return False
    return False
