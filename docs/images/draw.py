"""Draws docs/images/demo.svg: the terminal after `paceline demo`, from a real run of it.

The SVG uses fonts that every machine has, so that nothing is fetched when somebody looks at it.
"""

import io
import tempfile
from pathlib import Path

import msgspec
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from paceline import write
from paceline.loop.prove import Demo

TARGET = Path(__file__).with_name("demo.svg")
FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
WIDTH = 100

FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: FONTS; font-size: {char_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
""".replace("FONTS", FONTS)


def shown() -> str:
    """What `paceline demo` found and proved, in colors, without its longest tables."""
    with tempfile.TemporaryDirectory() as folder:
        demo = Demo(Path(folder) / "paceline-demo", lambda stage: print(stage, "..."))
        proof = demo.proof()
    assert demo.report is not None
    look = write.Look(width=WIDTH, color=True)
    found = write.report(demo.report, look=look).split("\n\n")
    kept = msgspec.structs.replace(proof, notes=proof.notes[:1])
    return "\n\n".join([*found[:3], write.proof(kept, look=look)])


def main() -> None:
    """Writes the picture."""
    console = Console(record=True, width=WIDTH + 2, file=io.StringIO(), color_system="standard")
    console.print(Text("$ paceline demo", style="green"))
    console.print(Text.from_ansi(shown()))
    svg = console.export_svg(title="", theme=MONOKAI, code_format=FRAME, unique_id="demo")
    lines = (line.rstrip() for line in svg.splitlines())
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
