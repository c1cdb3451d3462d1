"""What all charts share: a figure without a display, its colors, and how it becomes SVG text.

Texts become outlines, so that no name from a trace is ever markup in a page.
"""

import io
from typing import Any, cast

INK, PALE = "#222222", "#d9d9d9"
COLORS = {
    "compute": "#4c78a8",
    "copy": "#72b7b2",
    "send": "#f58518",
    "recv": "#eeca3b",
    "collective": "#e45756",
    "load": "#54a24b",
    "host": "#b279a2",
    "wait": "#bab0ac",
    "lead": "#e8e4e1",
}


def figure(width: float, height: float) -> tuple[Any, Any]:
    """An empty figure of that size in inches, with one pair of axes."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    axes: Any = canvas.add_subplot()
    axes.tick_params(labelsize=8, colors=INK)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return canvas, axes


def svg(canvas: Any) -> str:
    """The figure as SVG text that stands inside a page."""
    import matplotlib as mpl

    settings = cast(Any, mpl).rc_context
    out = io.StringIO()
    with settings({"svg.fonttype": "path", "svg.hashsalt": "paceline"}):
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, dpi=130)
    text = out.getvalue()
    return text[text.index("<svg") :]
