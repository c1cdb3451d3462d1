"""Which worker was slow in which step: its own work against that of the median worker, in ms.

Own work is all but communication, so waiting for others does not show as slowness. Of many workers
the slowest are shown one by one and all of them in bands, of each band its slowest worker.
"""

from typing import Any, NamedTuple

import numpy as np

from paceline.model import F64, TALKING, UNKNOWN, Profile
from paceline.write.charts.drawn import FAINT, INK, blank, plain, svg

SINGLE = 40  # workers up to which each has a row of its own
SLOWEST, BANDS = 12, 24
COLUMNS = 120  # more steps than this are averaged in blocks
WRITTEN = 120  # cells up to which each says its number


class Panel(NamedTuple):
    """Rows of the picture: their labels, and ms over the median worker by (row, step)."""

    title: str
    labels: list[str]
    extra_ms: F64


def heatmap(profile: Profile) -> str:
    """The picture, or an empty text where nothing was measured."""
    if not profile.measured or len(profile.graph.workers) < 2:
        return ""
    ranks, table = own_work(profile)
    usual: F64 = np.median(table, axis=0, keepdims=True)
    parts = panels(ranks, blocks((table - usual) / 1e6))
    limit = max(0.01, *(float(np.percentile(abs(part.extra_ms), 99)) for part in parts))
    heights = [max(len(part.labels), 3) for part in parts]
    canvas = blank(1.1 + 0.2 * sum(heights))
    every = canvas.subplots(len(parts), 1, height_ratios=heights, squeeze=False)[:, 0]
    images = [_drawn(axes, part, limit) for axes, part in zip(every, parts, strict=True)]
    steps = [line.step for line in profile.measured]
    _steps(every[-1], steps, parts[0].extra_ms.shape[1])
    bar = canvas.colorbar(images[0], ax=list(every), pad=0.012, aspect=30, fraction=0.04)
    bar.set_label("ms", fontsize=8, color=FAINT)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_visible(False)
    return svg(canvas, "heat")


def own_work(profile: Profile) -> tuple[list[int], F64]:
    """Ranks, and own work in ns by (worker, step)."""
    graph = profile.graph
    ranks = sorted(graph.workers)
    own = ~np.isin(graph.kind, TALKING)
    row = np.searchsorted(ranks, graph.worker[own])
    columns = [
        np.bincount(
            row,
            np.where(line.start_ns != UNKNOWN, line.end_ns - line.start_ns, 0)[own],
            minlength=len(ranks),
        )
        for line in profile.measured
    ]
    return ranks, np.stack(columns, axis=1).astype(np.float64)


def blocks(table: F64) -> F64:
    """The table with neighboring steps averaged, so that it has no more columns than fit."""
    if table.shape[1] <= COLUMNS:
        return table
    parts = np.array_split(table, COLUMNS, axis=1)
    return np.stack([part.mean(axis=1) for part in parts], axis=1)


def panels(ranks: list[int], extra_ms: F64) -> list[Panel]:
    """One row a worker, or where there are too many the slowest, then all in bands."""
    if len(ranks) <= SINGLE:
        return [Panel("", [f"worker {rank}" for rank in ranks], extra_ms)]
    slowest = np.argsort(-extra_ms.mean(axis=1), kind="stable")[:SLOWEST]
    top = Panel(
        f"the {SLOWEST} slowest of {len(ranks):,} workers",
        [f"worker {ranks[at]}" for at in slowest],
        extra_ms[slowest],
    )
    bands = np.array_split(np.arange(len(ranks)), BANDS)
    labels = [f"{ranks[band[0]]} to {ranks[band[-1]]}" for band in bands]
    worst = np.stack([extra_ms[band].max(axis=0) for band in bands])
    return [top, Panel("all workers in bands: the slowest of each", labels, worst)]


def _drawn(axes: Any, part: Panel, limit: float) -> Any:
    image = axes.imshow(
        part.extra_ms, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit,
        interpolation="nearest",
    )  # fmt: skip
    plain(axes)
    axes.spines["bottom"].set_visible(False)
    every = -(-len(part.labels) // 40)
    places = range(0, len(part.labels), every)
    axes.set_yticks(places, [part.labels[at] for at in places], fontsize=7.5)
    axes.tick_params(axis="both", length=0)
    axes.set_xticks([])
    if part.title:
        axes.set_title(part.title, fontsize=8, color=FAINT, loc="left", pad=3)
    if part.extra_ms.size <= WRITTEN and part.extra_ms.shape[1] <= 12:
        digits = int(np.clip(2 - np.floor(np.log10(limit)), 0, 3))
        for (row, step), ms in np.ndenumerate(part.extra_ms):
            ink = "white" if abs(ms) > 0.6 * limit else INK
            axes.text(
                step, row, f"{ms:+.{digits}f}", ha="center", va="center", fontsize=7, color=ink
            )
    return image


def _steps(axes: Any, steps: list[int | None], columns: int) -> None:
    """The numbers of the steps, as the recording has them."""
    numbers = [at if step is None else step for at, step in enumerate(steps)]
    starts = [part[0] for part in np.array_split(np.array(numbers), columns)]
    every = -(-columns // 16)
    axes.set_xticks(range(0, columns, every), [str(starts[at]) for at in range(0, columns, every)])
    words = "step" if columns == len(steps) else f"step; {len(steps) / columns:.1f} in a column"
    axes.set_xlabel(words, fontsize=8, color=FAINT, loc="left")
