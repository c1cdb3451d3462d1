"""What each fix would give: the step without each finding, with the interval of what is regained.

Comes in: a report. Goes out: one bar a finding, all on the scale of the step as it is now.
"""

from paceline.model import Finding, Report, show_ns
from paceline.write.charts.drawn import COLORS, FAINT, GRID, INK, figure, label, svg, unit_of

MOST = 15  # bars


def costs(report: Report) -> str:
    """The picture, or an empty text where no finding has a cost."""
    rows = [found for found in report.findings if found.cost_ns][:MOST]
    step = report.step_ns[0]
    if not rows or not step:
        return ""
    unit, per_unit = unit_of(step)
    canvas, axes = figure(0.9 + 0.3 * (len(rows) + 1))
    axes.barh(0, step / per_unit, color=COLORS["compute"], height=0.62)
    axes.text(1.01 * step / per_unit, 0, show_ns(step), va="center", fontsize=8, color=INK)
    for at, found in enumerate(rows, 1):
        _bar(axes, at, found, step, per_unit)
    labels = ["now", *(f"{row.code}  {label(_what(row), 44)}" for row in rows)]
    axes.set_yticks(range(len(labels)), labels, fontsize=8, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_xlim(0, 1.5 * step / per_unit)
    axes.spines["bottom"].set_bounds(0, step / per_unit)
    axes.axvline(step / per_unit, color=GRID, linewidth=0.8, zorder=0)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 1.001 * step / per_unit])
    axes.set_xlabel(f"step ({unit})", fontsize=8, color=FAINT, loc="left")
    return svg(canvas, "costs")


def _what(found: Finding) -> str:
    return found.subject if found.cause is None else f"{found.subject}: {found.cause}".replace(
        "_", " "
    )  # fmt: skip


def _bar(axes: object, at: int, found: Finding, step: float, per_unit: float) -> None:
    cost = min(found.cost_ns or 0.0, step)
    rest = step - cost
    draw = axes.barh  # type: ignore[attr-defined]
    draw(at, rest / per_unit, color=COLORS["compute"], height=0.62)
    draw(at, cost / per_unit, left=rest / per_unit, color=COLORS["regained"], height=0.62)
    words = f"{show_ns(rest)}  (−{show_ns(cost)}, {100 * cost / step:.0f} %"
    if found.interval_ns is not None:
        low, high = ((step - min(max(ns, 0.0), step)) / per_unit for ns in found.interval_ns)
        axes.plot([low, high], [at, at], color=INK, linewidth=1.2)  # type: ignore[attr-defined]
        for end in (low, high):
            axes.plot([end, end], [at - 0.14, at + 0.14], color=INK, linewidth=1.2)  # type: ignore[attr-defined]
        words += f"; {show_ns(found.interval_ns[0])} to {show_ns(found.interval_ns[1])}"
    axes.text(  # type: ignore[attr-defined]
        1.01 * step / per_unit, at, words + ")", va="center", fontsize=8, color=INK
    )
