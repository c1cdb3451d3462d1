"""One file that is not to be trusted: its bytes in blocks of bounded memory, under stated caps.

Gzip is undone on the way, by content and not by name. A bomb (too large, or too high a ratio), a
truncated or a corrupt stream ends as InputError that says how far the file was good.
"""

import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from paceline.model import InputError, Source, digest, show_bytes

BLOCK = 1 << 20
HEAD = 1 << 16
_GZIP = b"\x1f\x8b"


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """How much a file may ask for: decompressed bytes, decompressed to stored, nesting."""

    largest_bytes: int = 8 * 2**30
    ratio: int = 200
    depth: int = 128


DEFAULT_CAPS = Caps()


class Opened:
    """A file with its caps; `head` is the first 64 KiB of its content, decompressed."""

    def __init__(self, path: Path | str, caps: Caps = DEFAULT_CAPS) -> None:
        self.path = Path(path)
        self.caps = caps
        self.head = b""
        if self.path.exists() and not self.path.is_file():  # a pipe would be waited for
            raise InputError("is not a regular file.", where=self.path, cure="Check the path.")
        self._digest: str | None = None
        for block in self.blocks(HEAD, partial=True):
            self.head += block
            if len(self.head) >= HEAD:
                break

    def source(self, tool: str) -> Source:
        """Where a noun read from this file came from."""
        return Source(path=str(self.path), digest=self._digest or digest(self.path), tool=tool)

    def blocks(self, size: int = BLOCK, *, partial: bool = False) -> Iterator[bytes]:
        """The content in blocks; `partial`: a gzip stream that breaks off just ends.

        Gzip data that is wrong is an error all the same: nobody knows since where it is.
        """
        try:
            with self.path.open("rb") as file:
                zipped = file.read(2) == _GZIP
                file.seek(0)
                stored = self._stored(file, (1 << 16) if zipped else size)
                inner = self._unzipped(stored, size, partial) if zipped else stored
                total = 0
                for block in inner:
                    total += len(block)
                    if total > self.caps.largest_bytes:
                        raise self._too_large("bytes", show_bytes(self.caps.largest_bytes))
                    yield block
        except zlib.error as error:
            raise InputError(
                f"holds broken gzip data ({error}).", where=self.path, cure="Record it again."
            ) from error
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror or error}).",
                where=self.path,
                cure="Check the path and its permissions.",
            ) from error

    def whole(self, largest_bytes: int) -> bytes:
        """All content, for formats that are small by nature."""
        parts: list[bytes] = []
        total = 0
        for block in self.blocks():
            total += len(block)
            if total > largest_bytes:
                raise self._too_large("bytes", show_bytes(largest_bytes))
            parts.append(block)
        return b"".join(parts)

    def _stored(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        """The bytes as stored; their digest is worked out on the way."""
        seen = hashlib.sha256()
        while raw := file.read(size):
            seen.update(raw)
            yield raw
        self._digest = f"sha256:{seen.hexdigest()}"

    def _unzipped(self, raws: Iterator[bytes], size: int, partial: bool) -> Iterator[bytes]:
        inflate = zlib.decompressobj(wbits=31)
        stored = made = 0
        whole = True  # nothing of a member read yet, or its end reached
        for read in raws:
            raw = read
            stored += len(raw)
            full = False  # the last block was full: there may be more without further input
            while raw or full:
                whole = False
                block = inflate.decompress(raw, size)
                full = len(block) == size
                made += len(block)
                # the first block is exempt: a short file of blanks is no bomb
                if made > size and made > self.caps.ratio * stored:
                    raise self._too_large("ratio", f"{self.caps.ratio} to 1")
                if block:
                    yield block
                raw = inflate.unconsumed_tail
                if inflate.eof:
                    whole, full = True, False
                    raw = inflate.unused_data.lstrip(b"\0")  # padding between members is legal
                    inflate = zlib.decompressobj(wbits=31)
        if not whole and not partial:
            raise zlib.error("the stream breaks off")

    def _too_large(self, which: str, limit: str) -> InputError:
        return InputError(
            f"is larger than paceline reads ({limit}).",
            where=self.path,
            expected="Such a file is taken for a bomb.",
            cure=f"If it is yours, raise the limit with --max-{which}.",
        )
