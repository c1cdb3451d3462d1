"""What-ifs as a view for programs and a page for people.

Comes in: the step as it is, under each edit and under all. Goes out: milliseconds with intervals.
"""

from collections.abc import Sequence

import msgspec

from paceline.model import WhatIf
from paceline.write.page import Column, Page, table
from paceline.write.report_page import interval_text, ms


class WhatIfRow(msgspec.Struct, frozen=True, kw_only=True):
    """The step under one edit."""

    edit: str
    step_ms: float
    interval_ms: tuple[float, float] | None


class TogetherRow(msgspec.Struct, frozen=True, kw_only=True):
    """The step under all edits, in the order given."""

    step_ms: float
    interval_ms: tuple[float, float] | None


class WhatIfView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline whatif`."""

    schema: int
    base_ms: float
    edits: tuple[WhatIfRow, ...]
    together: TogetherRow
    notes: tuple[str, ...]


def whatif_view(
    base_ns: float, each: Sequence[WhatIf], together: WhatIf, notes: Sequence[str]
) -> WhatIfView:
    """The view of what-ifs."""
    return WhatIfView(
        schema=1,
        base_ms=base_ns / 1e6,
        edits=tuple(
            WhatIfRow(
                edit=" ".join(map(str, row.edits)),
                step_ms=row.step_ns / 1e6,
                interval_ms=_interval(row),
            )
            for row in each
        ),
        together=TogetherRow(step_ms=together.step_ns / 1e6, interval_ms=_interval(together)),
        notes=tuple(notes),
    )


def whatif_page(view: WhatIfView) -> Page:
    """The page that shows the view."""
    columns = (
        Column(title="edit", wraps=True),
        Column(title="step", right=True),
        Column(title="interval (95 %)", right=True),
        Column(title="regained", right=True),
    )
    rows = [
        (row.edit, ms(row.step_ms), interval_text(row.interval_ms), _gain(view, row.step_ms))
        for row in view.edits
    ]
    if len(rows) > 1:
        own = view.together
        gain = _gain(view, own.step_ms)
        rows.append(("all together", ms(own.step_ms), interval_text(own.interval_ms), gain))
    facts = [("step now", f"{ms(view.base_ms)}, simulated"), *(("assumed", x) for x in view.notes)]
    return Page(
        title="What if",
        facts=tuple(facts),
        tables=(table("The step with each edit", columns, rows),),
        view=view,
    )


def _gain(view: WhatIfView, step_ms: float) -> str:
    return f"{100 * (1 - step_ms / view.base_ms):+.1f} %" if view.base_ms else "-"


def _interval(row: WhatIf) -> tuple[float, float] | None:
    interval = row.interval_ns
    return None if interval is None else (interval[0] / 1e6, interval[1] / 1e6)
