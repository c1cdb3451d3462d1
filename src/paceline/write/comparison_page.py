"""A comparison of two runs as a view for programs and a page for people.

Comes in: the comparison. Goes out: milliseconds and shares of the step, with their intervals.
"""

import msgspec

from paceline.model import Change, Comparison
from paceline.write.page import Column, Page, table
from paceline.write.report_page import ms


class ChangeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the step; `change` and `interval` are shares of the whole step before."""

    what: str
    before_ms: float
    after_ms: float
    change: float
    interval: tuple[float, float] | None


class ComparisonView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline compare`; `steps` counts those before and after."""

    schema: int
    step: ChangeRow
    certain: bool
    parts: tuple[ChangeRow, ...]
    steps: tuple[int, int]


def comparison_view(comparison: Comparison) -> ComparisonView:
    """The view of a comparison."""
    return ComparisonView(
        schema=1,
        step=_row(comparison.step),
        certain=comparison.certain,
        parts=tuple(_row(part) for part in comparison.parts),
        steps=comparison.steps,
    )


def comparison_page(view: ComparisonView) -> Page:
    """The page that shows the view."""
    columns = (
        Column(title="part", wraps=True),
        Column(title="before", right=True),
        Column(title="after", right=True),
        Column(title="change of the step", right=True),
        Column(title="interval (95 %)", right=True),
    )
    rows = [
        (row.what, ms(row.before_ms), ms(row.after_ms), _percent(row.change), _interval(row))
        for row in (view.step, *view.parts)
    ]
    return Page(
        title=_verdict(view),
        facts=(("steps", f"{view.steps[0]} before, {view.steps[1]} after"),),
        tables=(table("The step, and its parts that changed by more than noise", columns, rows),),
        view=view,
    )


def _verdict(view: ComparisonView) -> str:
    if not view.certain:
        return "No change beyond noise"
    return f"The step got {'slower' if view.step.change > 0 else 'faster'}"


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _interval(row: ChangeRow) -> str:
    if row.interval is None:
        return "not known"
    return f"{_percent(row.interval[0])} to {_percent(row.interval[1])}"


def _row(change: Change) -> ChangeRow:
    return ChangeRow(
        what=change.what,
        before_ms=change.before_ns / 1e6,
        after_ms=change.after_ns / 1e6,
        change=change.change,
        interval=change.interval,
    )
