"""The faults that the lab can inject, one record a kind, and how each is written on one line.

A fault begins when a step does. `worker` is a rank; a fault of a machine hits all that runs there.
The keys of a line are those of a fault file, with the units that people write.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

Where = Literal["load", "forward", "backward", "update"]
How = Literal["stall", "host", "compute"]
Reached = Literal["first", "last"]


class _Fault(msgspec.Struct, frozen=True, kw_only=True, tag_field="fault", tag=str.lower):
    @property
    def kind(self) -> str:
        """The word for it in a file."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        said = ", ".join(f"{key}: {value}" for key, value in _said(self))
        return f"{self.kind}: {{{said}}}"


class Slow(_Fault, frozen=True, kw_only=True):
    """More time in each step from `step` until before `until` (None: in one step).

    Exactly one of: `by_ns` longer in `where` (how: one pause, many small ones between ops, or as
    compute), `factor` on padded work (of all phases if `where` is None), or `cpu` cores at most.
    """

    worker: int | None = None
    machine: str | None = None
    step: int
    until: int | None = None
    where: Where | None = None
    how: How = "stall"
    by_ns: int | None = None
    factor: float | None = None
    cpu: float | None = None


class Lose(_Fault, frozen=True, kw_only=True):
    """The worker, or all of a machine, is killed and says nothing more."""

    worker: int | None = None
    machine: str | None = None
    step: int
    where: Where | None = None


class Rejoin(_Fault, frozen=True, kw_only=True):
    """The machine of the loss before is started again, this long after it."""

    worker: int | None = None
    machine: str | None = None
    after_ns: int = 0


class Freeze(_Fault, frozen=True, kw_only=True):
    """The worker, or all of a machine, is stopped and goes on after `for_ns`."""

    worker: int | None = None
    machine: str | None = None
    step: int
    for_ns: int
    where: Where | None = None


class Hang(_Fault, frozen=True, kw_only=True):
    """The worker stays where it is, alive: for `for_ns`, or for good."""

    worker: int
    step: int
    where: Where | None = None
    for_ns: int | None = None


class Cut(_Fault, frozen=True, kw_only=True):
    """Nothing passes the link, until a step, or until it is healed."""

    a: str
    b: str
    step: int
    until: int | None = None
    reached: Reached = "first"


class Heal(_Fault, frozen=True, kw_only=True):
    """The link is as the cluster says again."""

    a: str
    b: str
    step: int
    reached: Reached = "first"


class Limit(_Fault, frozen=True, kw_only=True):
    """The link has this rate, latency and loss; what is None stays as the cluster says."""

    a: str
    b: str
    step: int
    until: int | None = None
    bytes_per_s: int | None = None
    latency_ns: int | None = None
    loss: float | None = None
    reached: Reached = "first"


Fault = Slow | Lose | Rejoin | Freeze | Hang | Cut | Heal | Limit

FAULTS: dict[str, type[Fault]] = {
    kind.__name__.lower(): kind for kind in (Slow, Lose, Rejoin, Freeze, Hang, Cut, Heal, Limit)
}
KEYS = {"by_ns": "by", "for_ns": "for", "after_ns": "after", "bytes_per_s": "rate",
        "latency_ns": "latency"}  # fmt: skip
_PLAIN = re.compile(r"(?!null$)[a-z][a-z0-9_]*", re.ASCII)
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))
_RATES = ((125 * 10**6, "Gbit"), (125 * 10**3, "Mbit"), (125, "kbit"), (1, "B/s"))


def _said(fault: _Fault) -> Iterator[tuple[str, str]]:
    """Keys and values as a file has them; what is as by default is left out."""
    for field in msgspec.structs.fields(type(fault)):
        value = getattr(fault, field.name)
        if value is None or value == field.default:
            continue
        if field.name.endswith("_ns"):
            text = _largest(value, _TIMES)
        elif field.name == "bytes_per_s":
            text = _largest(value, _RATES)
        else:
            # quoted as JSON is, which YAML is too: a machine may be called `no` or `a: b`
            text = msgspec.json.encode(value).decode()
            text = value if isinstance(value, str) and _PLAIN.fullmatch(value) else text
        yield KEYS.get(field.name, field.name), text


def _largest(value: int, units: tuple[tuple[int, str], ...]) -> str:
    """The whole number with the largest unit that keeps it one."""
    size, unit = next((size, unit) for size, unit in units if value % size == 0 or size == 1)
    return f"{value // size}{unit}"
