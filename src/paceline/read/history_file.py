"""An availability history: how many machines of an offer could be had in each slot of time.

Two polarities are in use in public files, and mixing them inverts every result: a file says which
one it has by its key, or the caller does. Keys given twice: the last one wins, as in all JSON.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from paceline.model import History, InputError, quoted
from paceline.read.nearest import nearest
from paceline.read.opened import Opened
from paceline.read.scalar import MOST_WORKERS

POLARITIES = ("available", "preempted")
LARGEST = 256 * 2**20  # bytes
_LONGEST_GAP = 366 * 86400  # seconds
_FORM = 'A history reads {"gap_seconds": 600, "available": [1, 0]}.'
_KEYS = ("gap_seconds", "capacity", *POLARITIES, "data", "metadata")


def history(path: Path | str, *, polarity: str | None = None) -> History:
    """The machines that could be had in each slot, whatever the polarity of the file.

    `polarity` (available or preempted) says what `data` counts in a file that does not say it.
    """
    opened = Opened(path)
    where = opened.path
    if polarity is not None and polarity not in POLARITIES:
        raise InputError(
            f"{quoted(polarity)} is no polarity.",
            expected="Polarities are available and preempted.",
            cure=f"Did you mean {nearest(polarity, POLARITIES) or 'available'!r}?",
        )
    content = _content(opened)
    metadata = content.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError("metadata is no object.", where=where)
    facts = cast(dict[str, object], metadata) | content
    counted, given = _polarity(content, polarity, where)
    counts = _counts(content[given], given, where)
    capacity = _capacity(facts, where)
    if counted == "preempted":
        counts = _complement(counts, 1 if capacity is None else capacity, where)
    elif capacity is not None and max(counts) > capacity:
        raise InputError(f"has {max(counts)} available of capacity {capacity}.", where=where)
    return History(name=where.name, gap_s=_gap(facts, where), available=tuple(counts))


def _content(opened: Opened) -> dict[str, object]:
    try:
        content: object = msgspec.json.decode(opened.whole(LARGEST))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InputError(f"is not JSON ({error}).", where=opened.path, expected=_FORM) from error
    if not isinstance(content, dict):
        raise InputError("holds no object.", where=opened.path, expected=_FORM)
    content = cast(dict[str, object], content)
    for key in content:
        if key not in _KEYS:
            meant = nearest(key, _KEYS)
            raise InputError(
                f"{quoted(key)} is no key of a history.",
                where=opened.path,
                expected=f"Keys are {', '.join(_KEYS)}.",
                cure=f"Did you mean {meant!r}?" if meant else "Remove it.",
            )
    return content


def _polarity(content: Mapping[str, object], told: str | None, where: Path) -> tuple[str, str]:
    """What the numbers count, and the key under which they stand."""
    given = [key for key in (*POLARITIES, "data") if key in content]
    if len(given) != 1:
        raise InputError(
            f"has {' and '.join(given) or 'no series'}.",
            where=where,
            expected="A history has exactly one of available, preempted and data.",
            cure="" if given else _FORM,
        )
    if given[0] == "data" and told is None:
        raise InputError(
            "does not say what its data count.",
            where=where,
            expected="It may be machines available or machines preempted.",
            cure="Say it with --polarity available or --polarity preempted.",
        )
    if given[0] != "data" and told not in (None, given[0]):
        raise InputError(
            f"counts machines {given[0]}, not {told}.",
            where=where,
            cure="Leave the polarity out: the file says it itself.",
        )
    return told or given[0], given[0]


def _counts(series: object, key: str, where: Path) -> list[int]:
    if not isinstance(series, list) or not series:
        raise InputError(f"{key} is no list of numbers, or empty.", where=where, expected=_FORM)
    counts: list[int] = []
    for slot, value in enumerate(cast(list[object], series)):
        count = _count(value)
        if count is None:
            raise InputError(
                f"slot {slot} of {key} holds {quoted(value)}.",
                where=where,
                expected="Each slot holds a whole number of machines, 0 or more.",
            )
        counts.append(count)
    return counts


def _count(value: object) -> int | None:
    """The whole number of machines that the value says; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    fine = 0 <= value <= MOST_WORKERS and value == int(value)
    return int(value) if fine else None


def _capacity(facts: Mapping[str, object], where: Path) -> int | None:
    if facts.get("capacity") is None:
        return None
    capacity = _count(facts["capacity"])
    if not capacity:
        raise InputError(
            f"capacity is {quoted(facts['capacity'])}.",
            where=where,
            expected="Expected the number of machines asked for, 1 or more.",
        )
    return capacity


def _complement(counts: list[int], capacity: int, where: Path) -> list[int]:
    slot = next((at for at, count in enumerate(counts) if count > capacity), None)
    if slot is not None:
        raise InputError(
            f"slot {slot} counts {counts[slot]} preempted of capacity {capacity}.",
            where=where,
            cure='Give "capacity", the number of machines asked for.',
        )
    return [capacity - count for count in counts]


def _gap(facts: Mapping[str, object], where: Path) -> float:
    gap = facts.get("gap_seconds")
    if isinstance(gap, (int, float)) and not isinstance(gap, bool) and 0 < gap <= _LONGEST_GAP:
        return float(gap)
    raise InputError(
        f"gap_seconds is {'missing' if gap is None else quoted(gap)}.",
        where=where,
        expected="Expected the length of a slot in seconds, more than 0 and at most a year.",
    )
