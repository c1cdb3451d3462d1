"""Saves nouns and loads them again, equal: JSON with a schema number and the kind of noun.

A file is written beside its place, synced and renamed, so that nobody ever sees half of one.
A path that ends in .gz is compressed.
"""

import contextlib
import gzip
import hashlib
import os
import secrets
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import msgspec
import numpy as np

from paceline.model.cluster import Cluster
from paceline.model.columns import decoded, encoded, is_column
from paceline.model.errors import InputError, ModelError
from paceline.model.graph import Graph
from paceline.model.plan import Edit, Plan
from paceline.model.profile import Profile
from paceline.model.report import Bill, Comparison, Report
from paceline.model.timeline import Timeline
from paceline.model.trace import Trace
from paceline.model.verify import verify

SCHEMA = 1
LARGEST = 8 * 2**30  # bytes of a saved noun after decompression
_SURELY_FINE = 2**28  # bytes that any packed file may hold; beyond it the ratio counts
_RATIO = 200
_PIECE = 2**20
_GZIP = b"\x1f\x8b"

NOUNS: dict[str, type] = {
    noun.__name__.lower(): noun
    for noun in (Trace, Graph, Profile, Cluster, Timeline, Plan, Report, Comparison, Bill)
}

Noun = TypeVar("Noun")


class _Head(msgspec.Struct):
    schema: int
    noun: str


def save(noun: object, path: Path | str) -> None:
    """Writes the noun whole, or leaves what was there."""
    name = type(noun).__name__.lower()
    if name not in NOUNS:
        raise TypeError(f"{name} is not a noun that files hold")
    body = dumped(noun)
    with replacing(Path(path)) as part:
        part.write_bytes(gzip.compress(body, 6, mtime=0) if str(path).endswith(".gz") else body)


def dumped(noun: object) -> bytes:
    """The noun as the bytes of its file, before compression."""
    head = {"schema": SCHEMA, "noun": type(noun).__name__.lower()}
    fields = cast(dict[str, object], msgspec.to_builtins(noun, enc_hook=_encode))
    try:
        return (_laid_out(head | fields, 0) + "\n").encode()
    except UnicodeEncodeError as error:  # half a surrogate pair, as in some file names
        raise ModelError(
            f"a {head['noun']} holds the text {error.object!r}, which is no Unicode.",
            cure="Rename what is called so.",
        ) from error


def _laid_out(value: object, depth: int) -> str:
    """JSON that diffs well: one line a field and one a record, but columns of numbers on one."""
    if isinstance(value, dict) and value and depth < 2:
        rows = [
            f"{_compact(key)}: {_laid_out(item, depth + 1)}"
            for key, item in cast(dict[str, object], value).items()
        ]
        return _block("{", rows, "}", depth)
    if isinstance(value, tuple) and value and isinstance(value[0], (dict, str, tuple)):
        return _block("[", [_compact(item) for item in cast(tuple[object, ...], value)], "]", depth)
    return _compact(value)


def _block(opens: str, rows: list[str], closes: str, depth: int) -> str:
    indent = "\n" + " " * (depth + 1)
    return opens + indent + f",{indent}".join(rows) + "\n" + " " * depth + closes


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def load(path: Path | str, noun: type[Noun]) -> Noun:
    """The verified noun of a file; InputError for anything else."""
    data = _contents(Path(path))
    try:
        head = msgspec.json.decode(data, type=_Head)
        if NOUNS.get(head.noun) is not noun:
            raise InputError(
                f"holds a {head.noun!r}.",
                where=path,
                expected=f"A {noun.__name__.lower()} is needed.",
            )
        if head.schema != SCHEMA:
            raise InputError(
                f"has schema {head.schema}.",
                where=path,
                expected=f"This paceline reads schema {SCHEMA}.",
                cure="Use the version that wrote it, or make it again.",
            )
        loaded = msgspec.json.decode(data, type=noun, dec_hook=_decode)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"is not a saved {noun.__name__.lower()} ({error}).",
            where=path,
            cure="Make it again with the command that wrote it.",
        ) from error
    return cast(Noun, verify(cast(Any, loaded), path))


def digest(path: Path | str) -> str:
    """The SHA-256 of a file as stored."""
    with Path(path).open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A new file beside `path` that takes its place when the block ends without an error."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error}).",
            where=path,
            cure="Check the folder and the disk.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _contents(path: Path) -> bytes:
    """The bytes of a file, unpacked by content whatever its name; a bomb ends as InputError."""
    try:
        if path.exists() and not path.is_file():
            raise InputError("is no file.", where=path, cure="Check the path.")
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            bomb = max(_SURELY_FINE, _RATIO * path.stat().st_size)
            largest = min(LARGEST, bomb) if packed else LARGEST
            data = _read(gzip.GzipFile(fileobj=file) if packed else file, largest + 1)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read ({why}).", where=path, cure="Check the path.") from error
    if len(data) > largest:
        raise InputError(
            f"holds more than {largest} bytes.",
            where=path,
            expected="Such a file is taken for a bomb.",
            cure="Keep fewer steps, or unpack it first.",
        )
    return data


def _read(file: BinaryIO | gzip.GzipFile, most: int) -> bytes:
    """Up to `most` bytes, piece by piece: one read would ask for so much memory at once."""
    pieces: list[bytes] = []
    while most > 0 and (piece := file.read(min(most, _PIECE))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _encode(value: object) -> object:
    if isinstance(value, np.ndarray):
        return encoded(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Edit):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _decode(hint: type, value: object) -> object:
    if is_column(hint):
        return decoded(hint, value)
    if not isinstance(value, str):
        raise TypeError("an edit is no text")
    try:
        return Edit.parse(value)
    except InputError as error:
        raise ValueError(error.found) from error
