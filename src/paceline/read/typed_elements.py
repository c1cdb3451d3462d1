"""The elements of a streamed JSON array as records of one type; a wrong one is named.

What `pieces` needs to know of a format whose elements are all alike.
"""

from typing import Generic, TypeVar

import msgspec

from paceline.model import InputError
from paceline.read.opened import Opened
from paceline.read.pieces import Element

Record = TypeVar("Record", bound=msgspec.Struct)


class TypedElements(Generic[Record]):
    """Decodes elements into `shape`; `what` is an element in a message."""

    def __init__(self, opened: Opened, shape: type[Record], what: str) -> None:
        self._where, self._what = opened.path, what
        self._decoder = msgspec.json.Decoder(list[shape])
        self._single = msgspec.json.Decoder(shape)
        self.starts = 0  # how often the array began: a key given twice counts as its last value

    def anew(self) -> None:
        """The array starts."""
        self.starts += 1

    def decode(self, piece: bytes) -> list[Record]:
        """The records of `[piece]`."""
        return self._decoder.decode(piece)

    def one_by_one(self, elements: list[Element]) -> list[Record]:
        """The records, or InputError for the first that is none."""
        return [self._one(element) for element in elements]

    def _one(self, element: Element) -> Record:
        try:
            return self._single.decode(element.raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(
                f"{self._what} {element.number} cannot be used ({error}).",
                where=self._where,
                expected=f"It begins at byte {element.offset:,}.",
                cure="Record it again.",
            ) from error
