"""The page of an inspection: what a person reads of it, every figure with its unit.

Comes in: the view. Goes out: facts first, then one table for each thing of which there are many.
"""

from paceline.model import show_bit_per_s, show_ns
from paceline.write.inspection import ClockFound, GroupFound, Inspection, LinkFound, Matched
from paceline.write.page import Column, Page, Table, table

UNKNOWN = "not known"


def inspection_page(view: Inspection) -> Page:
    """The page that shows the view."""
    return Page(
        title="What was found",
        facts=_facts(view),
        tables=tuple(
            part
            for part in (
                _workers(view), _lanes(view), _groups(view), _matches(view), _links(view),
                _notes(view),
            )
            if part.rows
        ),
        view=view,
    )  # fmt: skip


def _facts(view: Inspection) -> tuple[tuple[str, str], ...]:
    machines = len({worker.machine for worker in view.workers})
    workers = f"{len(view.workers):,} on {_counted(machines, 'machine')}"
    if view.missing_workers:
        workers += f"; missing: {ranges(view.missing_workers)}"
    facts = [("workers", workers), ("events", f"{view.events:,}"), ("steps", _steps(view))]
    if view.step_ms is not None:
        took = view.step_ms
        spread = f"10 to 90 %: {_ms(took.p10)} to {_ms(took.p90)}"
        facts.append(("step time", f"{_ms(took.median)}, {spread}"))
    if view.alignment_residual_us is not None:
        residual = show_ns(view.alignment_residual_us * 1e3)
        facts.append(("clocks", f"after alignment, ends that should coincide differ by {residual}"))
    if not view.links:
        facts.append(("links", _no_links(machines)))
    return tuple(facts)


def _no_links(machines: int) -> str:
    if machines == 1:
        return "not measured: all workers are on one machine"
    return "not measured: no messages between machines, nor all-reduces that tell a rate"


def _steps(view: Inspection) -> str:
    if not view.steps:
        return "none with times"
    numbered = [step for step in view.steps if step is not None]
    return f"{len(view.steps):,}" + (f" ({ranges(numbered)})" if numbered else "")


def _workers(view: Inspection) -> Table:
    clocks = {clock.worker: clock for clock in view.alignment}
    gaps = {gap.worker: gap.ms_per_step for gap in view.gaps}
    rows = [
        (
            str(worker.rank),
            worker.machine,
            worker.device or UNKNOWN,
            f"{worker.lanes:,}",
            f"{worker.events:,}",
            _ms(gaps[worker.rank]),
            *_clock(clocks.get(worker.rank)),
        )
        for worker in view.workers
    ]
    right = ("lanes", "events", "gaps/step", "offset", "drift", "error")
    columns = (
        Column(title="worker", right=True),
        Column(title="machine", wraps=True),
        Column(title="device", wraps=True),
        *(Column(title=title, right=True) for title in right),
    )
    return table("Workers", columns, rows)


def _clock(clock: ClockFound | None) -> tuple[str, str, str]:
    if clock is None:
        return UNKNOWN, UNKNOWN, UNKNOWN
    error = UNKNOWN if clock.error_us is None else f"± {show_ns(clock.error_us * 1e3)}"
    return show_ns(clock.offset_us * 1e3), f"{clock.drift_ppm:.2f} ppm", error


def _lanes(view: Inspection) -> Table:
    columns = (
        Column(title="lane", wraps=True),
        Column(title="workers", right=True),
        Column(title="ops per step", right=True),
    )
    rows = [(lane.name, f"{lane.workers:,}", f"{lane.ops:,}") for lane in view.lanes]
    return table("Lanes", columns, rows)


def _groups(view: Inspection) -> Table:
    columns = (
        Column(title="group", wraps=True),
        Column(title="size", right=True),
        Column(title="workers", wraps=True),
    )
    return table("Groups", columns, [_group(group) for group in view.groups])


def _group(group: GroupFound) -> tuple[str, str, str]:
    if group.members is None:
        return group.name, UNKNOWN, UNKNOWN
    return group.name, f"{len(group.members):,}", ranges(group.members)


def _matches(view: Inspection) -> Table:
    columns = (
        Column(title="what"),
        Column(title="matched", right=True),
        Column(title="unmatched", right=True),
        Column(title="by", wraps=True),
    )
    found = (("collectives", view.collectives), ("messages", view.messages))
    return table("Matches", columns, [_match(what, m) for what, m in found if _any(m)])


def _any(found: Matched) -> bool:
    return found.matched + found.unmatched > 0


def _match(what: str, found: Matched) -> tuple[str, ...]:
    keys = ", ".join(f"{key} ({count:,})" for key, count in found.by_key.items())
    return what, f"{found.matched:,}", f"{found.unmatched:,}", keys


def _links(view: Inspection) -> Table:
    columns = (
        Column(title="from", wraps=True),
        Column(title="to", wraps=True),
        *(Column(title=title, right=True) for title in ("rate", "95 %", "latency", "95 %")),
    )
    return table("Links", columns, [row for link in view.links for row in _link(link)])


def _link(link: LinkFound) -> list[tuple[str, ...]]:
    """A row for the link, and one for the way back if its rate was measured, too."""
    latency = UNKNOWN if link.latency_us is None else show_ns(link.latency_us * 1e3)
    between = ""
    if link.interval_latency_us is not None:
        between = " to ".join(show_ns(us * 1e3) for us in link.interval_latency_us)
    there = (link.a, link.b, *_rate(link.gbit_per_s, link.interval_gbit_per_s), latency, between)
    if link.back_gbit_per_s is None:
        return [there]
    back = _rate(link.back_gbit_per_s, link.back_interval_gbit_per_s)
    return [there, (link.b, link.a, *back, latency, between)]


def _rate(rate: float | None, interval: tuple[float, float] | None) -> tuple[str, str]:
    if rate is None:
        return UNKNOWN, ""
    return _gbit(rate), "" if interval is None else " to ".join(_gbit(end) for end in interval)


def _notes(view: Inspection) -> Table:
    columns = (
        Column(title="note"),
        Column(title="worker", right=True),
        Column(title="count", right=True),
        Column(title="what could not be used, or was assumed", wraps=True),
    )
    rows = [
        (note.code, "" if note.worker is None else str(note.worker), f"{note.count:,}", note.text)
        for note in view.notes
    ]
    return table("Notes", columns, rows)


def ranges(numbers: tuple[int, ...] | list[int]) -> str:
    """Numbers as people list them: `0-3, 7`."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in parts[:20]]
    return ", ".join(shown) + (", …" if len(parts) > 20 else "")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _ms(ms: float) -> str:
    return show_ns(ms * 1e6)


def _gbit(rate: float) -> str:
    return show_bit_per_s(rate * 1e9 / 8)
