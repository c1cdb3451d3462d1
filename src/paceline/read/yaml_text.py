"""YAML that people write, as a tree of values that know their line; nothing is guessed.

Scalars stay text until a key says what they are, so `no`, `1:30` and `007` are safe as names. What
makes YAML dangerous or ambiguous is refused: tags, aliases, keys given twice, several documents.
JSON is read as the YAML that it is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from paceline.model import InputError, quoted
from paceline.read.opened import Opened

LARGEST = 64 * 2**20  # bytes
DEEPEST = 128
MOST = 1_000_000  # values: what is read in seconds

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


class Value(msgspec.Struct, frozen=True):
    """A scalar, list or mapping of a file; `plain` says that a scalar stands without quotes."""

    line: int
    content: "str | list[Value] | dict[str, Value]"
    plain: bool = False

    @property
    def absent(self) -> bool:
        """True for an empty value, `~` or `null`: not known."""
        return self.plain and self.content in _NULLS


def refused(where: Path, line: int, found: str, expected: str = "", cure: str = "") -> InputError:
    """The error for something wrong on a line of a file."""
    return InputError(f"line {line}: {found}", where=where, expected=expected, cure=cure)


def text_of(opened: Opened) -> str:
    """The whole of a file that people write, as text."""
    raw = opened.whole(LARGEST)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise refused(opened.path, line, "this is not UTF-8.", cure="Save it as UTF-8.") from error


def parsed(text: str, where: Path) -> Value:
    """The one document of the text; an empty file is an empty mapping."""
    import yaml

    tree = _Tree(where)
    try:
        for event in _events(text):
            tree.take(event)
    except yaml.reader.ReaderError as error:
        raise InputError(
            "holds a control character, which no YAML file may hold.",
            where=where,
            cure="Remove it, or write it as an escape in double quotes.",
        ) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refused(
            where,
            mark.line + 1 if mark else 1,
            f"this is not YAML ({error.problem or error.context}).",
            cure="Look at indents, quotes and colons.",
        ) from error
    return tree.document or Value(1, {})


def _events(text: str) -> Iterator[Any]:
    """What the parser sees; by the C library where it is there, ten times faster."""
    import yaml

    library: Any = yaml  # its types are not known
    return library.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class _Open:
    """A list or mapping that is not closed yet; a mapping may wait for the value of a key."""

    def __init__(self, line: int, content: list[Value] | dict[str, Value]) -> None:
        self.line = line
        self.content = content
        self.key: str | None = None
        self.key_line = 0


class _Tree:
    """Parser events in, one tree out; never deeper or larger than is said above."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.open: list[_Open] = []
        self.document: Value | None = None
        self.count = 0

    def take(self, event: Any) -> None:
        """Adds what one event of the parser says."""
        import yaml

        line: int = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise refused(
                self.where, line, f"the alias *{event.anchor} is refused.", cure="Write it out."
            )
        if getattr(event, "tag", None) is not None:
            raise refused(
                self.where, line, f"the tag {event.tag} is refused.", cure="Write plain values."
            )
        if isinstance(event, yaml.ScalarEvent):
            self._add(line, event.value, event.implicit[0])
        elif isinstance(event, yaml.MappingStartEvent):
            self._begin(line, {})
        elif isinstance(event, yaml.SequenceStartEvent):
            self._begin(line, [])
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = self.open.pop()
            self._add(closed.line, closed.content, plain=False)
        elif isinstance(event, yaml.DocumentStartEvent) and self.document:
            raise refused(self.where, line, "a second document begins.", "A file holds one.")

    def _begin(self, line: int, content: list[Value] | dict[str, Value]) -> None:
        if len(self.open) == DEEPEST:
            raise refused(self.where, line, f"this is nested more than {DEEPEST} deep.")
        self.open.append(_Open(line, content))

    def _add(self, line: int, content: str | list[Value] | dict[str, Value], plain: bool) -> None:
        self.count += 1
        if self.count > MOST:
            raise refused(
                self.where, line, f"the file holds more than {MOST} values.",
                cure="Give machines and links as CSV files beside it.",
            )  # fmt: skip
        if not self.open:
            value = Value(line, content, plain)
            self.document = Value(1, {}) if value.absent else value
            return
        parent = self.open[-1]
        if isinstance(parent.content, list):
            parent.content.append(Value(line, content, plain))
        elif parent.key is None:
            self._key(parent, parent.content, line, content)
        else:
            # a value is found where its key stands
            parent.content[parent.key] = Value(parent.key_line, content, plain)
            parent.key = None

    def _key(self, parent: _Open, known: dict[str, Value], line: int, key: object) -> None:
        if not isinstance(key, str):
            raise refused(self.where, line, "a key is a list or a mapping.", "A key is a word.")
        if key in known:
            raise refused(
                self.where, line,
                f"{quoted(key)} is given again; line {known[key].line} has it too.",
                cure="Keep one of the two.",
            )  # fmt: skip
        parent.key, parent.key_line = key, line
