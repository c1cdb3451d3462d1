"""A place in a JSON document of any size: the bytes ahead of it, read on when they are needed.

Whole values are taken by their structure only; whoever wants one decodes it. Memory is bounded by
`LONGEST`, nesting by the caps of the file.
"""

import re

import msgspec

from paceline.model import InputError, show_bytes
from paceline.read.json_structure import structure
from paceline.read.opened import Opened

PIECE = 1 << 19  # the records of a piece stay in the processor's cache
LONGEST = 64 * 2**20  # of one value that is held whole

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb'[^\s,\[\]{}":]+')


class BrokenOffError(Exception):
    """The content ends inside the document."""


class JsonCursor:
    """The bytes `data` from `at` on lie ahead; `base` is where `data` begins in the content."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.data, self.at, self.base = b"", 0, 0
        self.ended = False
        self._blocks = opened.blocks(PIECE, partial=True)
        if self.needs(3) and self.data.startswith(b"\xef\xbb\xbf"):
            self.at = 3

    @property
    def offset(self) -> int:
        """Where the cursor stands in the content."""
        return self.base + self.at

    @property
    def held(self) -> int:
        """How many bytes lie ahead."""
        return len(self.data) - self.at

    def needs(self, size: int) -> bool:
        """True if `size` bytes lie ahead, after reading on if necessary."""
        if self.held < size and not self.ended:
            parts = [self.data[self.at :]]
            held = len(parts[0])
            while held < size and not self.ended:
                block = next(self._blocks, b"")
                self.ended = not block
                parts.append(block)
                held += len(block)
            self.base += self.at
            self.data, self.at = b"".join(parts), 0
        return self.held >= size

    def grow(self) -> None:
        """Twice as much data, so that scanning it again costs no more than reading it."""
        held = self.held
        self.check(held)
        if not self.needs(held + max(held, PIECE)) and self.held == held:
            raise BrokenOffError

    def peek(self) -> bytes:
        """The next byte that is no white space; nothing at the end of the content."""
        while True:
            self.at = after_space(self.data, self.at)
            if self.held or not self.needs(1):
                return self.data[self.at : self.at + 1]

    def expect(self, marks: bytes, expected: str) -> bytes:
        """The next byte that is no white space, if it is one of `marks`."""
        mark = self.peek()
        if not mark:
            raise BrokenOffError
        if mark not in marks:
            raise self.wrong("is not JSON", expected)
        return mark

    def key(self) -> str:
        """The key that lies ahead; the cursor then stands on its value."""
        self.expect(b'"', "A key in quotes is needed.")
        raw = self._token(_STRING)
        self.expect(b":", "A colon is needed.")
        self.at += 1
        try:
            return msgspec.json.decode(raw, type=str)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self.wrong(f"has a key that is no text ({error})", "") from error

    def value(self) -> bytes:
        """The value that lies ahead, whole."""
        first = self.peek()
        if first == b'"':
            return self._token(_STRING)
        if first not in (b"{", b"["):
            return self._token(_SCALAR)
        while True:
            found = structure(self.data[self.at + 1 :])
            if found.deepest > self.opened.caps.depth - 2:
                raise self.too_deep()
            if found.end is not None:
                break
            self.grow()
        start, self.at = self.at, self.at + found.end + 2
        return self.data[start : self.at]

    def _token(self, pattern: re.Pattern[bytes]) -> bytes:
        """A token; one that touches the end of the data may go on."""
        while True:
            match = pattern.match(self.data, self.at)
            if match and match.end() < len(self.data):
                self.at = match.end()
                return match[0]
            if match is None and pattern is _SCALAR and self.held:
                raise self.wrong("is not JSON", "A value is needed.")
            self.grow()

    def check(self, held: int) -> None:
        """Nothing, if so many bytes may be held at once."""
        if held > LONGEST:
            raise self.wrong(
                f"holds one value of more than {show_bytes(LONGEST)}", "Such a file is no trace."
            )

    def too_deep(self) -> InputError:
        """The error for a depth bomb."""
        limit = self.opened.caps.depth
        return self.wrong(f"nests deeper than {limit} levels", "Such a file is taken for a bomb.")

    def wrong(self, found: str, expected: str) -> InputError:
        """The error for what stands at the cursor."""
        return InputError(
            f"{found} (byte {self.offset:,}).",
            where=self.opened.path,
            expected=expected,
            cure="Record it again.",
        )


def after_space(data: bytes, at: int) -> int:
    """The first position from `at` on that is no white space."""
    match = _SPACE.match(data, at)
    return match.end() if match else at
