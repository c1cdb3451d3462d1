"""How closely a lab does what was asked, as a view for programs and a page for people."""

from collections.abc import Callable, Sequence

import msgspec

from paceline.model import Fidelity, LinkFidelity, MachineFidelity, show_bit_per_s, show_ns
from paceline.write.page import Column, Page, table

MODES = {
    "root": "namespaces as root",
    "user": "namespaces in a user namespace",
    "loopback": "loopback, links not emulated",
}


class FidelityView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline lab check`."""

    schema: int
    mode: str
    links: tuple[LinkFidelity, ...]
    machines: tuple[MachineFidelity, ...]


def fidelity_page(found: Fidelity) -> Page:
    """The page that shows it."""
    errors = found.errors()
    verdict = f"off by at most {max(map(abs, errors)):.1%}" if errors else "nothing to compare"
    facts = [("lab", MODES[found.mode]), ("in short", verdict)]
    facts += [("note", note) for note in found.notes]
    links = [
        (
            f"{row.a} to {row.b}",
            *_compared(
                row.asked_bit_per_s, row.measured_bit_per_s, lambda x: show_bit_per_s(x / 8)
            ),
            *_compared(row.asked_latency_us, row.measured_latency_us, lambda x: show_ns(x * 1000)),
        )
        for row in found.links
    ]
    machines = [
        (row.name, *_compared(row.asked_cores, row.measured_cores, lambda x: f"{x:.2f}"))
        for row in found.machines
        if row.asked_cores is not None
    ]
    tables = [table("Links", _columns("way", "rate", "latency"), links)]
    if machines:
        tables.append(table("Machines", _columns("machine", "cores"), machines))
    return Page(
        title="The lab, asked and measured",
        facts=tuple(facts),
        tables=tuple(tables),
        view=FidelityView(schema=1, mode=found.mode, links=found.links, machines=found.machines),
    )


def _columns(first: str, *figures: str) -> tuple[Column, ...]:
    columns = [Column(title=first)]
    for figure in figures:
        columns += [Column(title=figure, right=True)]
        columns += [Column(title=title, right=True) for title in ("measured", "error")]
    return tuple(columns)


def _compared(
    asked: float | None, measured: float | None, shown: Callable[[float], str]
) -> Sequence[str]:
    error = f"{measured / asked - 1:+.1%}" if asked and measured is not None else ""
    return (
        "any" if asked is None else shown(asked),
        "not known" if measured is None else shown(measured),
        error,
    )
