"""Entries that did not decode together, one by one: either a way to read one, or a clear error.

Old profilers write numbers as text, NaN among the arguments, or names with raw control characters;
none of that makes an entry unusable. A span without a proper start and duration does.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from paceline.model import InputError
from paceline.read.kineto_event import NAN, NO_ARGS, Batch, Entry, keys_of, text_of
from paceline.read.kineto_keys import Keys
from paceline.read.kineto_names import Cat, category
from paceline.read.kineto_time import EXACT_US, ns_of_number
from paceline.read.pieces import Element


class Repair:
    """Reads single entries; `count` of them were no valid JSON and could be read all the same."""

    def __init__(self, path: Path, keys: Keys) -> None:
        self.count = 0
        self._path, self._keys = path, keys

    def batch(self, elements: list[Element]) -> Batch:
        """The entries of the elements; InputError for the first that cannot be used."""
        entries: list[Entry] = []
        starts: list[int] = []
        for element in elements:
            fields = self._fields(element)
            entry = _entry(fields)
            cat = category(entry.ph, entry.cat)
            start = ns_of_number(fields.get("ts"))
            duration = _duration_ns(fields.get("dur"))
            if cat >= Cat.OP and cat != Cat.PYTHON and (start is None or duration is None):
                raise self._unusable(element, entry.name, fields)
            if cat in (Cat.FLOW_FROM, Cat.FLOW_TO) and start is None:
                raise self._unusable(element, entry.name, fields)
            entry.dur = NAN if duration is None else duration / 1000
            entries.append(entry)
            starts.append(-1 if start is None else start)
        return Batch(
            entries=entries,
            keys=keys_of(entries, self._keys),
            start_ns=np.array(starts, dtype=np.int64),
            duration_us=np.array([entry.dur for entry in entries], dtype=np.float64),
        )

    def _fields(self, element: Element) -> dict[str, object]:
        try:
            msgspec.json.decode(element.raw, type=msgspec.Raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.count += 1
        try:
            fields: object = json.loads(
                element.raw.decode("utf-8", "replace"), parse_float=Decimal, strict=False
            )
        except ValueError as error:
            raise self._wrong(element, f"is not JSON ({error}).", "") from error
        if not isinstance(fields, dict):
            raise self._wrong(element, "is not an object.", "")
        return cast(dict[str, object], fields)

    def _unusable(self, element: Element, name: str, fields: dict[str, object]) -> InputError:
        start, duration = fields.get("ts"), fields.get("dur")
        if isinstance(duration, (int, Decimal)) and duration < 0:
            what = f"ends before it starts ({duration} µs)."
            return self._wrong(element, what, "Clocks must be monotonic within a trace.", name)
        if ns_of_number(start) is None:
            what = "has no start time." if start is None else f"starts at {start} µs."
            return self._wrong(element, what, "A time from 1970 to 2200 is needed.", name)
        what = "has no duration." if duration is None else f"lasts {duration} µs."
        return self._wrong(element, what, "A span has a duration in microseconds.", name)

    def _wrong(self, element: Element, what: str, expected: str, name: str = "") -> InputError:
        title = f'event {element.number} "{name[:80]}"' if name else f"event {element.number}"
        return InputError(
            f"{title} (byte {element.offset:,}) {what}",
            where=self._path,
            expected=expected,
            cure="Record it again.",
        )


def _entry(fields: dict[str, object]) -> Entry:
    """The entry with texts where texts belong; its times are taken elsewhere."""
    return Entry(
        ph=text_of(fields.get("ph", "")),
        cat=text_of(fields.get("cat", "")),
        name=text_of(fields.get("name", "")),
        pid=_number_or_text(fields.get("pid", 0)),
        tid=_number_or_text(fields.get("tid", 0)),
        args=msgspec.Raw(json.dumps(fields["args"], default=float).encode())
        if isinstance(fields.get("args"), dict)
        else NO_ARGS,
        id=_number_or_text(fields.get("id", 0)),
    )


def _duration_ns(value: object) -> int | None:
    duration = ns_of_number(value)
    return None if duration is None or duration >= EXACT_US * 1000 else duration


def _number_or_text(value: object) -> int | str:
    return value if isinstance(value, int) and not isinstance(value, bool) else text_of(value)
