"""cluster.yaml to a Cluster: machines, links and offers, with the units that people write.

Large tables may stand as CSV files beside it; a cluster that paceline saved as JSON is read too.
Besides the rules of the model, which are checked again at the end, this file knows lines.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from typing import TypeVar

import msgspec

from paceline.model import (
    Cluster,
    InputError,
    Link,
    Machine,
    MachineKind,
    Offer,
    load,
    parse_bytes,
    parse_bytes_per_s,
    parse_duration_ns,
    quoted,
    verify,
)
from paceline.read.csv_text import rows
from paceline.read.nearest import nearest
from paceline.read.opened import Opened
from paceline.read.record import Key, mapping, placed, record, unknown
from paceline.read.scalar import (
    MOST_WORKERS,
    file_name,
    flag,
    name,
    number,
    positive,
    quantity,
    whole,
)
from paceline.read.yaml_text import LARGEST, Value, parsed, refused, text_of

Noun = TypeVar("Noun", Machine, Link, Offer)

_size = quantity(parse_bytes, zero=False)
_rate = quantity(parse_bytes_per_s, zero=False)
_time = quantity(parse_duration_ns, zero=True)
_speed = number("a speed greater than 0", positive)
_loss = number("a loss from 0 to less than 1", lambda loss: 0 <= loss < 1)
_price = number("a price greater than 0", positive)

_KIND = {
    "device": Key("device", name),
    "memory": Key("memory_bytes", _size),
    "speed": Key("speed", _speed),
}
_MACHINE = {
    "name": Key("name", name, required=True),
    "kind": Key("kind", name),
    "zone": Key("zone", name),
    "slots": Key("slots", whole(1, MOST_WORKERS)),
    "busy": Key("busy", whole(0, MOST_WORKERS)),
    "speed": Key("speed", _speed),
    "cores": Key("cores", whole(1, MOST_WORKERS)),
}
_LINK = {
    "a": Key("a", name, required=True),
    "b": Key("b", name, required=True),
    "rate": Key("bytes_per_s", _rate),
    "rate_back": Key("back_bytes_per_s", _rate),
    "latency": Key("latency_ns", _time),
    "loss": Key("loss", _loss),
}
_OFFER = {
    "name": Key("name", name, required=True),
    "kind": Key("kind", name, required=True),
    "zone": Key("zone", name),
    "spot": Key("spot", flag),
    "usd_per_hour": Key("usd_per_hour", _price, required=True),
    "limit": Key("limit", whole(0, MOST_WORKERS)),
    "notice": Key("notice_ns", _time),
    "history": Key("history", file_name),
}
_SECTIONS: dict[str, None] = dict.fromkeys(("kinds", "machines", "links", "offers"))


class _Saved(msgspec.Struct):
    """What tells a saved noun from JSON that people wrote."""

    schema: int
    noun: str


def cluster(path: Path | str) -> Cluster:
    """The machines, links and offers of a cluster file, verified.

    `machines`, `links` and `offers` are lists, or each the name of a CSV file in the same folder or
    below. The history of an offer is kept as written, not opened.
    """
    opened = Opened(path)
    found = load(path, Cluster) if _is_saved(opened) else _written(opened)
    if not found.machines and not found.offers:
        raise InputError(
            "holds neither machines nor offers.",
            where=path,
            expected="A cluster has at least one machine, or an offer to rent one.",
            cure="Add a line like `machines: [{name: m0}]`.",
        )
    return found


def _is_saved(opened: Opened) -> bool:
    if not opened.head.lstrip().startswith(b"{"):
        return False
    try:
        msgspec.json.decode(opened.whole(LARGEST), type=_Saved)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _written(opened: Opened) -> Cluster:
    where = opened.path
    sections = mapping(parsed(text_of(opened), where), "a cluster", where)
    for key, value in sections.items():
        if key not in _SECTIONS:
            raise unknown(key, _SECTIONS, "a cluster", where, value.line)
    kinds = _kinds(sections.get("kinds"), where)
    machines = _table(
        sections.get("machines"), where, Machine, _MACHINE,
        subject=lambda m: f"machine {m.name!r}",
        contradiction=lambda m: _unknown_kind(m.kind, kinds) or _overfull(m),
    )  # fmt: skip
    links = _table(
        sections.get("links"), where, Link, _LINK,
        subject=lambda x: "the link " + " - ".join(sorted((x.a, x.b))),
        contradiction=lambda x: "joins an end to itself." if x.a == x.b else "",
    )  # fmt: skip
    offers = _table(
        sections.get("offers"), where, Offer, _OFFER,
        subject=lambda o: f"offer {o.name!r}",
        contradiction=lambda o: _unknown_kind(o.kind, kinds),
    )  # fmt: skip
    made = Cluster(kinds=tuple(kinds.values()), machines=machines, links=links, offers=offers)
    return verify(made, where)


def _kinds(value: Value | None, where: Path) -> dict[str, MachineKind]:
    found: dict[str, MachineKind] = {}
    for word, facts in _given(value, "the kinds of machine", where).items():
        placed(name, Value(facts.line, word), "kinds", where)
        keys = Value(facts.line, _given(facts, f"kind {word!r}", where))
        found[word] = record(keys, partial(MachineKind, name=word), _KIND, "a kind", where)
    return found


def _given(value: Value | None, what: str, where: Path) -> dict[str, Value]:
    return {} if value is None or value.absent else mapping(value, what, where)


def _table(
    value: Value | None,
    where: Path,
    noun: type[Noun],
    keys: dict[str, Key],
    *,
    subject: Callable[[Noun], str],
    contradiction: Callable[[Noun], str],
) -> tuple[Noun, ...]:
    """The records of a section, each without contradiction and no two about one subject."""
    what = noun.__name__.lower()
    if value is None or value.absent:
        return ()
    found: list[Noun] = []
    seen: dict[str, int] = {}
    listed, where = _rows(value, what, where)
    for row in listed:
        one = record(row, noun, keys, f"{'an' if what[0] in 'aeiou' else 'a'} {what}", where)
        if why := contradiction(one):
            raise refused(where, row.line, f"{subject(one)} {why}")
        first = seen.setdefault(subject(one), row.line)
        if len(seen) == len(found):
            raise refused(
                where, row.line, f"{subject(one)} is given again; line {first} has it too.",
                cure="Keep one of the two.",
            )  # fmt: skip
        found.append(one)
    return tuple(found)


def _rows(value: Value, what: str, where: Path) -> tuple[list[Value], Path]:
    """The rows of a section and the file that they stand in."""
    if isinstance(value.content, list):
        return value.content, where
    if isinstance(value.content, dict):
        raise refused(where, value.line, f"{what}s is a mapping.", "Expected a list or a CSV file.")
    beside = placed(file_name, value, f"{what}s", where)
    parts = PurePath(beside).parts
    if PurePath(beside).is_absolute() or ".." in parts or not beside.lower().endswith(".csv"):
        raise refused(
            where, value.line, f"{what}s: {quoted(beside)} is neither a list nor a CSV file.",
            cure=f"List the {what}s here, or name a .csv file in this folder or below.",
        )  # fmt: skip
    table = where.parent / beside
    return rows(table), table


def _unknown_kind(kind: str | None, kinds: dict[str, MachineKind]) -> str:
    if kind is None or not kinds or kind in kinds:
        return ""
    meant = nearest(kind, kinds)
    return f"has the kind {kind!r}, which `kinds` does not list." + (
        f" Did you mean {meant!r}?" if meant else ""
    )


def _overfull(machine: Machine) -> str:
    if machine.busy <= machine.slots:
        return ""
    return f"has {machine.busy} busy of {machine.slots} slots."
