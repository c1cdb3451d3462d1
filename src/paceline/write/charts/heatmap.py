"""Which worker was slow in which step: own work of each worker in each step, against the median.

Own work is all but communication, so waiting for others does not show as slowness.
"""

import numpy as np
import numpy.typing as npt

from paceline.model import TALKING, UNKNOWN, Profile
from paceline.write.charts.drawn import figure, svg

F64 = npt.NDArray[np.float64]


def heatmap(profile: Profile) -> str:
    """The picture, or an empty text where nothing was measured."""
    if not profile.measured or not profile.workers:
        return ""
    ranks, table = own_work(profile)
    usual: F64 = np.median(table, axis=0, keepdims=True)
    deviation: F64 = np.subtract(table / np.maximum(usual, 1), 1) * 100
    limit = max(5.0, float(np.percentile(abs(deviation).ravel(), 98)))
    canvas, axes = figure(9, min(1.2 + 0.22 * len(ranks), 7))
    image = axes.imshow(
        deviation, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest"
    )
    axes.set_xlabel("recorded step", fontsize=9)
    axes.set_ylabel("worker", fontsize=9)
    shown = range(0, len(ranks), -(-len(ranks) // 16))
    axes.set_yticks(shown, [str(ranks[row]) for row in shown])
    bar = canvas.colorbar(image, ax=axes, pad=0.01)
    bar.set_label("% over the median worker", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return svg(canvas)


def own_work(profile: Profile) -> tuple[list[int], F64]:
    """Ranks, and own work in ns by (worker, step)."""
    graph = profile.graph
    ranks = sorted(graph.workers)
    row = np.searchsorted(ranks, graph.worker)
    own = ~np.isin(graph.kind, TALKING)
    columns = [
        np.bincount(
            row,
            np.where(own & (line.start_ns != UNKNOWN), line.end_ns - line.start_ns, 0).astype(
                float
            ),
            minlength=len(ranks),
        )
        for line in profile.measured
    ]
    return ranks, np.stack(columns, axis=1).astype(np.float64)
