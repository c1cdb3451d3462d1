"""faults.yaml to Faults: what goes wrong in a run of the lab, to whom, at which step.

Faults stand in one list with steps of the run, or in phases, where steps count from the begin of
the phase. Whether a schedule fits a cluster is checked where both meet.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paceline.model import (
    FAULTS,
    Fault,
    Faults,
    InputError,
    ModelError,
    parse_bytes_per_s,
    parse_duration_ns,
    quoted,
)
from paceline.read.nearest import nearest
from paceline.read.opened import Opened
from paceline.read.record import Key, mapping, record, unknown
from paceline.read.scalar import MOST_WORKERS, name, number, positive, quantity, whole
from paceline.read.yaml_text import Value, parsed, refused, text_of

MOST_STEPS = 2**40


def _fields(**found: Any) -> dict[str, Any]:
    return found


def _one_of(*words: str) -> Callable[[Value], str]:
    def read(value: Value) -> str:
        if value.content not in words:
            meant = nearest(str(value.content), words)
            cure = f"Did you mean {meant!r}?" if meant else "Write one of them."
            raise InputError(f"{quoted(value.content)} is none of {', '.join(words)}.", cure=cure)
        return str(value.content)

    return read


def _where(value: Value) -> str:
    if value.content == "communication":
        raise InputError(
            "a worker is not slow while it communicates, its links are.",
            cure="Write a `limit` or a `cut` of a link.",
        )
    return _one_of("load", "forward", "backward", "update")(value)


_STEP = Key("step", whole(0, MOST_STEPS))
_UNTIL = Key("until", whole(1, MOST_STEPS))
_SUBJECT = {"worker": Key("worker", whole(0, MOST_WORKERS)), "machine": Key("machine", name)}
_WHERE = Key("where", _where)
_FOR = Key("for_ns", quantity(parse_duration_ns, zero=False))
_REACHED = Key("reached", _one_of("first", "last"))
_LINK = {"a": Key("a", name, required=True), "b": Key("b", name, required=True), "step": _STEP}
_TIME = quantity(parse_duration_ns, zero=True)
_POSITIVE = number("more than 0", positive)

_KEYS: dict[str, dict[str, Key]] = {
    "slow": {
        **_SUBJECT, "step": _STEP, "until": _UNTIL, "where": _WHERE,
        "by": Key("by_ns", _TIME), "factor": Key("factor", _POSITIVE),
        "cpu": Key("cpu", _POSITIVE), "how": Key("how", _one_of("stall", "host", "compute")),
    },
    "lose": {**_SUBJECT, "step": _STEP, "where": _WHERE},
    "rejoin": {**_SUBJECT, "after": Key("after_ns", _TIME)},
    "freeze": {
        **_SUBJECT, "step": _STEP, "where": _WHERE, "for": Key("for_ns", _FOR.read, required=True),
    },
    "hang": {
        "worker": Key("worker", _SUBJECT["worker"].read, required=True),
        "step": _STEP, "where": _WHERE, "for": _FOR,
    },
    "cut": {**_LINK, "until": _UNTIL, "reached": _REACHED},
    "heal": {**_LINK, "reached": _REACHED},
    "limit": {
        **_LINK, "until": _UNTIL, "reached": _REACHED,
        "rate": Key("bytes_per_s", quantity(parse_bytes_per_s, zero=False)),
        "latency": Key("latency_ns", _TIME),
        "loss": Key("loss", number("a loss from 0 to less than 1", lambda x: 0 <= x < 1)),
    },
}  # fmt: skip
_SECTIONS: dict[str, None] = {"faults": None, "phases": None}
_PHASE = {
    "name": Key("name", name, required=True),
    "steps": Key("steps", whole(1, MOST_STEPS), required=True),
    "faults": Key("faults", lambda value: value),
}


def faults(path: Path | str) -> Faults:
    """The schedule of a file, free of contradictions."""
    opened = Opened(path)
    where = opened.path
    sections = mapping(parsed(text_of(opened), where), "a schedule of faults", where)
    for key, value in sections.items():
        if key not in ("faults", "phases"):
            raise unknown(
                key, {"faults": 0, "phases": 0}, "a schedule of faults", where, value.line
            )
    rows = _rows(sections.get("faults"), "faults", where)
    made = Faults(faults=tuple(_fault(row, where, in_phase=False) for row in rows))
    for phase in _rows(sections.get("phases"), "phases", where):
        given = record(phase, _fields, _PHASE, "a phase", where)
        inside = _rows(given.get("faults"), "faults", where)
        own = Faults(faults=tuple(_fault(row, where, in_phase=True) for row in inside))
        try:
            made = made.phase(given["name"], given["steps"], own)
        except ModelError as error:
            raise refused(where, phase.line, error.found, error.expected, error.cure) from error
        rows += inside
    if found := made.broken():
        at, why, rule = found
        raise refused(where, rows[at].line, f"{made.faults[at]} {why}.", rule)
    return made.verify(where=where)


def _rows(value: Value | None, key: str, where: Path) -> list[Value]:
    if value is None or value.absent:
        return []
    if not isinstance(value.content, list):
        raise refused(where, value.line, f"{key} is no list.", "Begin each entry with `- `.")
    return list(value.content)


def _fault(row: Value, where: Path, *, in_phase: bool) -> Fault:
    content = mapping(row, "a fault", where)
    if len(content) != 1:
        raise refused(
            where, row.line, f"here are {len(content)} faults in one entry.",
            "An entry is one fault, like `- slow: {worker: 2, step: 3, by: 200ms}`.",
        )  # fmt: skip
    ((kind, given),) = content.items()
    if kind not in _KEYS:
        meant = nearest(kind, _KEYS)
        raise refused(
            where, given.line, f"{quoted(kind)} is no fault.", f"Faults are {', '.join(_KEYS)}.",
            f"Did you mean {meant!r}?" if meant else "",
        )  # fmt: skip
    keys = _KEYS[kind]
    fields = record(given, _fields, keys, f"the fault {kind!r}", where)
    if "step" in keys and "step" not in fields:
        if not in_phase:
            raise refused(
                where, given.line, f"the fault {kind!r} without 'step'.", cure="Give its step."
            )
        fields["step"] = 0
    return FAULTS[kind](**fields)
