"""What happened in one step: work and waiting of the workers that matter, the critical path on top.

The measured step nearest to the median is drawn; bars thinner than a pixel are merged.
"""

from typing import Any, NamedTuple

import numpy as np

from paceline.model import (
    F64,
    I64,
    TALKING,
    UNKNOWN,
    Graph,
    Kind,
    Profile,
    Report,
    Timeline,
    show_ns,
)
from paceline.write.apart import awaited, begun_ns, ready_ns
from paceline.write.charts.drawn import COLORS, FAINT, GRID, INK, figure, svg, unit_of
from paceline.write.charts.rows import Row, chosen_workers, rows

PIXELS = 1400
SHARP = 4000  # bars; more of them are drawn as points, which keeps the page small


class Scene(NamedTuple):
    """What is drawn: one measured step, since when each op could run and ran, and the rows."""

    graph: Graph
    line: Timeline
    begun: I64
    ready: I64
    rows: list[Row]
    first: int
    per_unit: float

    def at(self, ns: int) -> float:
        """A moment on the axis."""
        return (ns - self.first) / self.per_unit


def step_chart(report: Report, profile: Profile) -> str:
    """The picture, or an empty text where nothing was measured."""
    if not profile.measured:
        return ""
    graph, line = profile.graph, median_step(profile)
    pairs = awaited(graph)
    unit, per_unit = unit_of(line.step_ns)
    scene = Scene(
        graph=graph,
        line=line,
        begun=begun_ns(graph, line, pairs),
        ready=ready_ns(line, pairs),
        rows=rows(graph, line, chosen_workers(report, profile)),
        first=int(line.start_ns[line.start_ns != UNKNOWN].min(initial=0)),
        per_unit=per_unit,
    )
    canvas, axes = figure(1.0 + 0.19 * len(scene.rows))
    bars = [
        (at, name, _bars(start, end, line.step_ns))
        for at, row in enumerate(scene.rows)
        for name, start, end in _drawn(scene, row)
        if len(start)
    ]
    blunt = sum(len(part) for _, _, part in bars) > SHARP
    for at, name, part in bars:
        spread = (part - [scene.first, 0]) / per_unit
        axes.broken_barh(spread, (at - 0.4, 0.8), facecolor=COLORS[name], rasterized=blunt)
    _path(axes, scene, report)
    _axis(axes, scene, unit)
    _legend(axes, [name for name in COLORS if any(name == own for _, own, _ in bars)])
    return svg(canvas, "step")


def median_step(profile: Profile) -> Timeline:
    """The measured step whose length is nearest to the median."""
    lengths = np.array([line.step_ns for line in profile.measured])
    return profile.measured[int(np.argmin(np.abs(lengths - np.median(lengths))))]


def _drawn(scene: Scene, row: Row) -> list[tuple[str, I64, I64]]:
    """Name, starts and ends of what a row shows: waiting below, own work above it."""
    graph, line = scene.graph, scene.line
    ops = np.flatnonzero((graph.worker == row.worker) & np.isin(graph.kind, row.kinds))
    ops = ops[line.start_ns[ops] != UNKNOWN]
    talks = row.kinds == TALKING
    found = [("wait", line.start_ns[ops], scene.begun[ops])] if talks else []
    for kind in row.kinds:
        own = ops[graph.kind[ops] == kind]
        since = scene.begun if talks else line.start_ns
        found.append((kind.name.lower(), since[own], line.end_ns[own]))
    return [(name, start[end > start], end[end > start]) for name, start, end in found]


def _bars(start: I64, end: I64, step_ns: int) -> F64:
    """(start, length) in ns; neighbors that no eye could part are one."""
    least = max(step_ns // PIXELS, 1)
    order = np.argsort(start, kind="stable")
    start, reached = start[order], np.maximum.accumulate(end[order])
    new = np.r_[True, start[1:] - reached[:-1] > least]
    begin, last = start[new], reached[np.r_[np.flatnonzero(new)[1:] - 1, len(order) - 1]]
    return np.stack((begin, np.maximum(last - begin, least)), axis=1).astype(np.float64)


def _path(axes: Any, scene: Scene, report: Report) -> None:
    """The critical path as one line from op to op, across the workers that are drawn."""
    from matplotlib.patheffects import withStroke

    at = {(row.worker, kind): place for place, row in enumerate(scene.rows) for kind in row.kinds}
    start, end = scene.line.start_ns, scene.line.end_ns
    points: list[tuple[float, float]] = [(0.0, np.nan)]
    for part in report.critical_path:
        if part.op is None or start[part.op] == UNKNOWN:
            continue
        place = at.get((part.worker, Kind(int(scene.graph.kind[part.op]))))
        if place is None:  # on a worker that is not drawn: the line is interrupted
            points.append((points[-1][0], np.nan))
            continue
        since, until = int(scene.begun[part.op]), int(end[part.op])
        if part.kind in ("lead", "wait"):
            since, until = int(min(scene.ready[part.op], start[part.op])), int(start[part.op])
        began = max(scene.at(since), points[-1][0])
        points += [(began, points[-1][1]), (began, place), (max(scene.at(until), began), place)]
    xs, ys = zip(*points, strict=True)
    halo = withStroke(linewidth=3.2, foreground="white")
    axes.plot(xs, ys, color=INK, linewidth=1.3, path_effects=[halo], solid_joinstyle="round")


def _axis(axes: Any, scene: Scene, unit: str) -> None:
    labels: list[str] = []
    for at, row in enumerate(scene.rows):
        fresh = at == 0 or scene.rows[at - 1].worker != row.worker
        labels.append(f"worker {row.worker}   {row.role}" if fresh else row.role)
        if fresh and at:
            axes.axhline(at - 0.5, color=GRID, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    end = scene.line.step_ns / scene.per_unit
    axes.set_xlim(-0.004 * end, 1.004 * end)
    axes.axvline(end, color=FAINT, linewidth=0.8, linestyle=":")
    number = " the step" if scene.line.step is None else f" step {scene.line.step}"
    words = f"{unit} since{number} began; it took {show_ns(scene.line.step_ns)}"
    axes.set_xlabel(words, fontsize=8, color=FAINT, loc="left")


def _legend(axes: Any, names: list[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    words = {"recv": "receive", "wait": "waits for others"}
    handles: list[Any] = [Patch(color=COLORS[name], label=words.get(name, name)) for name in names]
    handles.append(Line2D([], [], color=INK, linewidth=1.5, label="critical path"))
    axes.legend(
        handles=handles, ncols=len(handles), fontsize=7.5, frameon=False, loc="lower left",
        bbox_to_anchor=(0, 1.0), borderaxespad=0.2, handlelength=1.4, columnspacing=1.4,
        labelcolor=INK,
    )  # fmt: skip
