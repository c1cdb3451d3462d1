"""The content of a file in pieces of whole lines, so that memory stays bounded.

A line longer than `LONGEST` is no line of ours; without this cap a file without a single line end
would be held whole.
"""

from collections.abc import Iterator
from typing import NamedTuple

from paceline.model import InputError, show_bytes
from paceline.read.opened import Opened

PIECE = 1 << 17  # small enough that the records of a piece stay in the processor's cache
LONGEST = 16 * 2**20


class Piece(NamedTuple):
    """Whole lines, how many, and the number of the first one, from 1."""

    first: int
    lines: int
    content: bytes


def pieces(opened: Opened) -> Iterator[Piece]:
    """The content in order; only the last piece may lack its line end."""
    number = 1
    held: list[bytes] = []
    waiting = 0
    for block in opened.blocks(PIECE):
        cut = block.rfind(b"\n") + 1
        if cut:
            piece = b"".join((*held, block[:cut]))
            lines = piece.count(b"\n")
            yield Piece(number, lines, piece)
            number += lines
            held, waiting = [], 0
        held.append(block[cut:])
        waiting += len(block) - cut
        if waiting > LONGEST:
            raise InputError(
                f"line {number} is longer than {show_bytes(LONGEST)}.",
                where=opened.path,
                expected="One event stands on one line.",
                cure="Put a line end after each event.",
            )
    if waiting:
        yield Piece(number, 1, b"".join(held))
