"""What all charts share: a figure without a display, its colors, and how it becomes SVG text.

Texts become outlines, so that no name from a trace is ever markup in a page; a mark that the font
lacks becomes a box. Ids carry the picture's name, so that several pictures fit one page.
"""

import io
import re
from functools import cache
from typing import Any, cast

from paceline.model import shown

INK, FAINT, GRID = "#24292f", "#6e7781", "#d8dee4"
ROOM = 9.6  # inches from edge to edge of a page
COLORS = {
    "compute": "#4c78a8",
    "copy": "#72b7b2",
    "host": "#b279a2",
    "load": "#54a24b",
    "collective": "#e45756",
    "send": "#f58518",
    "recv": "#d8b021",
    "wait": "#d0d4d9",
    "regained": "#a8d5b0",
}
_NOTHING = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_OWN_IDS = re.compile(r'(\bid="|href="#|url\(#)')
_USELESS_IDS = re.compile(r' id="[A-Za-z.]+(?:2d)?_\d+"')


def figure(height: float) -> tuple[Any, Any]:
    """An empty figure as wide as the page, so many inches high, with one pair of axes."""
    canvas = blank(height)
    axes: Any = canvas.add_subplot()
    plain(axes)
    return canvas, axes


def blank(height: float) -> Any:
    """A figure without axes."""
    from matplotlib.figure import Figure

    return Figure(figsize=(ROOM, height), layout="constrained", facecolor="none")


def plain(axes: Any) -> None:
    """Axes in the page's manner: no frame, small quiet labels."""
    axes.set_facecolor("none")
    axes.tick_params(labelsize=8, colors=FAINT, labelcolor=INK, length=3)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)


def label(text: str, longest: int) -> str:
    """The text as a picture can show it: harmless, short, and without marks that the font lacks."""
    marks = _marks()
    spelled = shown(text, longest)
    cut = spelled if len(spelled) <= longest else spelled[: longest - 1] + "…"
    return "".join(mark if ord(mark) in marks else "□" for mark in cut)


@cache
def _marks() -> frozenset[int]:
    """What the font has of scripts that need no shaping and run from left to right."""
    from matplotlib import font_manager

    fonts = cast(Any, font_manager)
    every = fonts.get_font(fonts.findfont("DejaVu Sans")).get_charmap()
    return frozenset(mark for mark in every if mark < 0x590 or 0x1E00 <= mark < 0x2C00)


def unit_of(longest_ns: float) -> tuple[str, float]:
    """The unit for an axis that reaches so far, and how many ns it has."""
    for unit, ns in (("s", 1e9), ("ms", 1e6)):
        if longest_ns >= 2 * ns:
            return unit, ns
    return "µs", 1e3


def svg(canvas: Any, name: str) -> str:
    """The figure as SVG text that stands inside a page."""
    import matplotlib as mpl

    settings = cast(Any, mpl).rc_context
    out = io.StringIO()
    with settings({"svg.fonttype": "path", "svg.hashsalt": name}):
        canvas.savefig(out, format="svg", metadata=_NOTHING, dpi=200)
    text = out.getvalue()
    text = _USELESS_IDS.sub("", text[text.index("<svg") :])
    return _OWN_IDS.sub(rf"\g<1>{name}-", text)
