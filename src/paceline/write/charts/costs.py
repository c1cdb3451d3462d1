"""What each cure would give: the cost of every finding with its interval, and what-ifs beside."""

from paceline.model import Report
from paceline.write.charts.drawn import COLORS, INK, figure, svg


def costs(report: Report) -> str:
    """The picture, or an empty text where no finding has a cost."""
    rows = [found for found in report.findings if found.cost_ns is not None][:15]
    if not rows:
        return ""
    canvas, axes = figure(9, 0.9 + 0.32 * len(rows))
    for at, found in enumerate(rows):
        cost = (found.cost_ns or 0.0) / 1e6
        axes.barh(at, cost, color=COLORS["compute"], height=0.6)
        if found.interval_ns is not None:
            low, high = (ns / 1e6 for ns in found.interval_ns)
            axes.plot([low, high], [at, at], color=INK, linewidth=1.2)
    labels = [f"{found.code}  {_where(found.worker)}" for found in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("ms of every step regained without it; line: 95 % interval", fontsize=9)
    return svg(canvas)


def _where(worker: int | None) -> str:
    return "whole job" if worker is None else f"worker {worker}"
