"""The four kinds of error that a user can meet, and how their message is built.

Every message says in this order: where it was found, what was found, what was expected, what to do.
Text that came from a file may hold terminal escapes or markup; `shown` makes any text harmless for
a terminal, and every error passes through it.
"""

import unicodedata

# Marks that reorder or hide text on a terminal, beyond the control characters proper.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_LONGEST = 200


def shown(text: object, longest: int = _LONGEST) -> str:
    """The text on one line, with control, format and bidirectional characters spelled out."""
    raw = str(text)
    cut = raw if len(raw) <= longest else raw[: longest - 1] + "…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_spelled(mark) for mark in cut)


def quoted(value: object) -> str:
    """A wrong value as it stands inside a message: in quotes if it is text, short and harmless."""
    if isinstance(value, (list, dict)):
        return "a list" if isinstance(value, list) else "a mapping"
    if isinstance(value, int) and abs(value) >= 2**64:  # Python does not print endless ones
        return "a huge number"
    return shown(repr(value), 80)


def _spelled(mark: str) -> str:
    if unicodedata.category(mark) not in _HIDDEN:
        return mark
    code = ord(mark)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class PacelineError(Exception):
    """Something the user can act on; printed without a traceback."""

    exit_code = 1

    def __init__(
        self, found: str, *, where: object = None, expected: str = "", cure: str = ""
    ) -> None:
        self.found = shown(found, 400)
        self.where = "" if where is None else shown(where)
        self.expected = shown(expected, 400)
        self.cure = shown(cure, 400)
        super().__init__(self.text())

    def text(self) -> str:
        """The whole message, at most two lines."""
        first = f"{self.where}: {self.found}" if self.where else self.found
        second = " ".join(part for part in (self.expected, self.cure) if part)
        return f"{first}\n{second}" if second else first


class InputError(PacelineError):
    """A file or a word of the command line is wrong."""

    exit_code = 3


class ModelError(PacelineError):
    """Facts contradict each other."""

    exit_code = 3


class GoalError(PacelineError):
    """No plan can reach the goal."""

    exit_code = 4


class RunError(PacelineError):
    """A run on real workers broke."""

    exit_code = 1
