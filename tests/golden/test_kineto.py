"""Kineto files of several versions, and beside each the events that it means.

`x.json` is the file, `x.trace.json` what is read from it: one event a line, without what is not
known. Write the latter anew with PACELINE_WRITE_GOLDEN=1, and read the difference.
"""

import json
import os
from pathlib import Path

import msgspec
import pytest

from paceline import read
from paceline.model import Trace

FOLDER = Path(__file__).parent / "kineto"
FILES = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".trace.json"))


def told(trace: Trace) -> str:
    """The trace for people: facts, groups, notes, then one line an event."""
    head = {
        "worker": trace.worker,
        "clock": trace.clock,
        "lanes": trace.lanes,
        "facts": _known(msgspec.to_builtins(trace.facts)),
        "groups": msgspec.to_builtins(trace.groups),
        "notes": [f"{note.code} x{note.count}: {note.text}" for note in trace.notes],
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    events = [_event(event) for event in msgspec.to_builtins(list(trace))]
    return "{\n" + ",\n".join(lines) + ',\n"events": [\n' + ",\n".join(events) + "\n]\n}\n"


def _event(event: dict[str, object]) -> str:
    from paceline.model import Kind, Phase

    event["kind"], event["phase"] = Kind(event["kind"]).name, Phase(event["phase"]).name
    event["after"] = [index for _, index in event["after"]] or None
    return json.dumps(_known(event))


def _known(record: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if value is not None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_means_these_events(path: Path) -> None:
    found = told(read.trace(path))
    expected = path.with_suffix(".trace.json")
    if os.environ.get("PACELINE_WRITE_GOLDEN"):
        expected.write_text(found)
    assert found == expected.read_text()
