"""What happened in one step: lanes of the workers that matter, the critical path on top.

The measured step nearest to the median is drawn; bars thinner than a pixel are merged.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import UNKNOWN, Kind, Profile, Report, Timeline
from paceline.write.charts.drawn import COLORS, INK, figure, svg

MOST_WORKERS = 8
PIXELS = 1600


def step_chart(report: Report, profile: Profile) -> str:
    """The picture, or an empty text where nothing was measured."""
    if not profile.measured:
        return ""
    line = median_step(profile)
    rows = _rows(profile, _workers(report, profile))
    canvas, axes = figure(9, 1.0 + 0.2 * len(rows))
    graph = profile.graph
    on_path = np.zeros(len(graph), dtype=bool)
    on_path[[part.op for part in report.critical_path if part.op is not None]] = True
    first = int(line.start_ns[line.start_ns != UNKNOWN].min(initial=0))
    for at, (worker, lane) in enumerate(rows):
        ops = np.flatnonzero((graph.worker == worker) & (graph.lane == lane))
        ops = ops[line.start_ns[ops] != UNKNOWN]
        for kind in Kind:
            bars = _bars(line, ops[graph.kind[ops] == kind], first)
            name = kind.name.lower()
            axes.broken_barh(bars, (at - 0.4, 0.8), facecolor=COLORS[name], rasterized=True)
        path = _bars(line, ops[on_path[ops]], first)
        axes.broken_barh(path, (at - 0.45, 0.12), facecolor=INK, rasterized=True)
    labels = [f"worker {worker}  {profile.graph.lanes[lane][:18]}" for worker, lane in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=7, parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("ms since the step began; black: critical path", fontsize=9)
    _legend(axes, {Kind(int(kind)).name.lower() for kind in np.unique(graph.kind)})
    return svg(canvas)


def median_step(profile: Profile) -> Timeline:
    """The measured step whose length is nearest to the median."""
    lengths = np.array([line.step_ns for line in profile.measured])
    return profile.measured[int(np.argmin(np.abs(lengths - np.median(lengths))))]


def _workers(report: Report, profile: Profile) -> list[int]:
    """Workers of findings first, then of the critical path, then by rank."""
    wanted = [found.worker for found in report.findings if found.worker is not None]
    wanted += [part.worker for part in report.critical_path]
    every = dict.fromkeys([*wanted, *profile.graph.workers])
    return sorted(list(every)[:MOST_WORKERS])


def _rows(profile: Profile, workers: list[int]) -> list[tuple[int, int]]:
    graph = profile.graph
    keep = np.isin(graph.worker, workers)
    pairs = np.unique(np.stack((graph.worker[keep], graph.lane[keep]), axis=1), axis=0)
    return [(int(worker), int(lane)) for worker, lane in pairs]


def _bars(line: Timeline, ops: npt.NDArray[np.int64], first: int) -> list[tuple[float, float]]:
    """Spans in ms; neighbors that no eye could part are one."""
    if not len(ops):
        return []
    least = max(line.step_ns // PIXELS, 1)
    order = ops[np.argsort(line.start_ns[ops], kind="stable")]
    start, end = line.start_ns[order] - first, line.end_ns[order] - first
    reached = np.maximum.accumulate(end)
    new = np.r_[True, start[1:] - reached[:-1] > least]
    begin, last = start[new], reached[np.r_[np.flatnonzero(new)[1:] - 1, len(order) - 1]]
    return [
        (float(a) / 1e6, max(float(b - a), least) / 1e6) for a, b in zip(begin, last, strict=True)
    ]


def _legend(axes: object, kinds: set[str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=color, label=kind) for kind, color in COLORS.items() if kind in kinds]
    axes.legend(  # type: ignore[attr-defined]
        handles=handles, ncols=len(handles), fontsize=7, frameon=False, loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
    )  # fmt: skip
