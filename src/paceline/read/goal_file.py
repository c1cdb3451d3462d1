"""goal.yaml to a Goal: what a plan must reach, by when and for how much; all may be left out."""

from pathlib import Path

from paceline.model import Goal, Target, parse_duration_s
from paceline.read.opened import Opened
from paceline.read.record import Key, record
from paceline.read.scalar import MOST, MOST_WORKERS, flag, number, positive, quantity, whole
from paceline.read.yaml_text import Value, parsed, refused, text_of

_TARGET = {
    "steps": Key("steps", whole(1, MOST)),
    "samples": Key("samples", whole(1, MOST)),
    "gap": Key("gap", number("a gap greater than 0", positive)),
}


def goal(path: Path | str) -> Goal:
    """The goal of a file; what the file leaves out is free."""
    opened = Opened(path)
    where = opened.path

    def target(value: Value) -> Target:
        found = record(value, Target, _TARGET, "a target", where)
        given = [key for key in _TARGET if getattr(found, key) is not None]
        if len(given) != 1:
            raise refused(
                where, value.line, f"target gives {' and '.join(given) or 'nothing'}.",
                expected="Exactly one of steps, samples and gap says when training is done.",
                cure="Write it like target: {steps: 10000}.",
            )  # fmt: skip
        return found

    keys = {
        "target": Key("target", target),
        "deadline": Key("deadline_s", quantity(parse_duration_s, zero=False)),
        "budget_usd": Key("budget_usd", number("a sum, 0 or more", lambda usd: usd >= 0)),
        "exact": Key("exact", flag),
        "min_workers": Key("min_workers", whole(1, MOST_WORKERS)),
        "max_workers": Key("max_workers", whole(1, MOST_WORKERS)),
    }
    written = parsed(text_of(opened), where)
    found = record(written, Goal, keys, "a goal", where)
    least, most = found.min_workers, found.max_workers
    if least is not None and most is not None and least > most:
        raise refused(
            where, written.line, f"min_workers {least} is more than max_workers {most}.",
            cure="Swap them, or leave one out.",
        )  # fmt: skip
    return found
