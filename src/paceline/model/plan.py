"""A plan is a program: workers, edits and leases, with an estimate and a certificate.

Edits are the only stored truth of what changes; scheme and routes are views derived from them.
An edit prints as `fuse-buckets{limit_bytes=26214400}` and parses back equal.
"""

import json
import math
import numbers
import re
from typing import Self

import msgspec

from paceline.model.errors import InputError, quoted
from paceline.model.trace import Source

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_KEY = re.compile(r"[a-z][a-z0-9_]*")
_EDIT = re.compile(rf"\s*+({_NAME.pattern})\s*+\{{(.*)\}}\s*+", re.DOTALL)
# possessive (*+), so that no text makes matching slow
_ARGUMENT = re.compile(
    rf'\s*+({_KEY.pattern})\s*+=\s*+("(?:[^"\\]|\\.)*+"|[^,"]*+)\s*+(,|\Z)', re.DOTALL
)
# besides words: 0-1, the link of two workers, and 25MiB, a size
_BARE = re.compile(
    r"[A-Za-z_][A-Za-z0-9_.:@/+-]*|[0-9]+-[0-9]+|[0-9]{1,19}(\.[0-9]{1,9})?[A-Za-z]+"
)
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_FLOAT = re.compile(r"-?[0-9]{1,300}(\.[0-9]{0,300}([eE][+-]?[0-9]{1,3})?|[eE][+-]?[0-9]{1,3})")
_LARGEST = 2**63  # of whole numbers

Value = bool | int | float | str


class Edit:
    """One rewrite with its arguments, in the order written; its printed form stands in files.

    Not a Struct, so that files hold the printed form.
    """

    __slots__ = ("_arguments", "_name")

    def __init__(self, name: str, arguments: tuple[tuple[str, Value], ...] = ()) -> None:
        keys = [key for key, _ in arguments]
        named = [word for word in keys if _KEY.fullmatch(word)]
        if not _NAME.fullmatch(name) or named != keys or len(set(keys)) != len(keys):
            raise _not_an_edit(f"{name}{{{','.join(keys)}}}")
        self._name = name
        self._arguments = tuple((key, _checked(value)) for key, value in arguments)

    @property
    def name(self) -> str:
        """Which rewrite."""
        return self._name

    @property
    def arguments(self) -> tuple[tuple[str, Value], ...]:
        """Keys and values."""
        return self._arguments

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edit) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"Edit({str(self)!r})"

    def __str__(self) -> str:
        inside = ",".join(f"{key}={_printed(value)}" for key, value in self.arguments)
        return f"{self.name}{{{inside}}}"

    def get(self, key: str) -> Value | None:
        """The argument, or None where it is not given."""
        return dict(self.arguments).get(key)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The edit that prints as `text`; raises InputError that shows the form."""
        match = _EDIT.fullmatch(text)
        if match is None:
            raise _not_an_edit(text)
        return cls(match[1], _arguments(match[2], text))


def _arguments(inside: str, text: str) -> tuple[tuple[str, Value], ...]:
    found: dict[str, Value] = {}
    at, more = 0, bool(inside.strip())
    while more:
        match = _ARGUMENT.match(inside, at)
        if match is None:
            raise _not_an_edit(text)
        if match[1] in found:
            raise InputError(
                f"the edit {quoted(text)} gives {quoted(match[1])} twice.", cure="Give it once."
            )
        found[match[1]] = _value(match[2].rstrip(), text)
        at, more = match.end(), match[3] == ","
    return tuple(found.items())


def _value(word: str, text: str) -> Value:
    if word in ("true", "false"):
        return word == "true"
    if word.startswith('"'):
        try:
            return json.loads(word)
        except ValueError as error:
            raise _not_an_edit(text) from error
    if _INTEGER.fullmatch(word) and abs(int(word)) < _LARGEST:
        return int(word)
    if _FLOAT.fullmatch(word):
        number = float(word)
        if math.isfinite(number):
            return number
    elif _BARE.fullmatch(word):
        return word
    raise _not_an_edit(text)


def _printed(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = _BARE.fullmatch(value) and value not in ("true", "false")
        return value if plain else json.dumps(value)
    return repr(value)


def _checked(value: object) -> Value:
    """The value as Python's own type, if its printed form can be parsed again."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        if abs(int(value)) < _LARGEST:
            return int(value)
    elif isinstance(value, numbers.Real) and math.isfinite(float(value)):
        return float(value)
    raise InputError("an edit cannot have such an argument.", expected="It is a word or a number.")


def _not_an_edit(text: str) -> InputError:
    return InputError(
        f"{quoted(text)} is not an edit.",
        expected="An edit reads name{key=value,...}, like speed{worker=3,factor=2}.",
        cure="Quote words with odd characters.",
    )


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker of a plan; `share` is its part of each step's samples."""

    rank: int
    machine: str
    share: float


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """The links that a bucket travels between two workers; a plan's routes are its overlay."""

    bucket: int | None
    source: str
    target: str
    links: tuple[tuple[str, str], ...]


class Scheme(msgspec.Struct, frozen=True, kw_only=True):
    """How gradients combine, and how many late workers that tolerates."""

    name: str  # plain, proportional, repetition, cyclic, two_stage, claim
    late: int = 0


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """Machines rented from one offer for a time."""

    offer: str
    count: int
    from_s: float = 0.0
    to_s: float | None = None


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is expected to do; None means not known."""

    step_ms: float | None = None
    hours: float | None = None
    usd: float | None = None
    compute_ms: float | None = None  # of a step; communication beside it may be hidden in part
    communication_ms: float | None = None


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """How far from the optimum a plan can be at most."""

    objective_s: float
    lower_bound_s: float
    gap: float
    binding: str | None = None
    relax_gain: float | None = None


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Total time over the number of workers."""

    n: int
    total_time_s: float


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What a simple rule would reach on the same data."""

    name: str
    n: int
    total_time_s: float


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which workers, changed how, rented where."""

    workers: tuple[Worker, ...] = ()
    edits: tuple[Edit, ...] = ()
    leases: tuple[Lease, ...] = ()
    estimate: Estimate = Estimate()
    certificate: Certificate | None = None
    curve: tuple[CurvePoint, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    made_from: tuple[Source, ...] = ()
    law: str | None = None  # of shares: equal or speed
    seed: int | None = None
