"""A page for the terminal: aligned tables in 100 columns, or fewer where the terminal is narrower.

Every cell passes through `shown` and none is read as markup: names come from files.
"""

import io
from typing import TYPE_CHECKING

from paceline.model import shown
from paceline.write.page import Look, Page, Table

if TYPE_CHECKING:
    from rich.padding import Padding

NAME: str = "text"
WIDEST = 100  # columns; what fits a terminal fits a comment too
LONGEST = 2000  # characters of one cell


def rendered(page: Page, look: Look) -> str:
    """The page as text; with color, escapes of the terminal tell headings apart."""
    from rich.console import Console
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out, width=min(look.width, WIDEST), force_terminal=look.color, markup=False,
        highlight=False, color_system="standard" if look.color else None, emoji=False,
    )  # fmt: skip
    console.print(Text(shown(page.title), style="bold"))
    console.print(_facts(page))
    for table in page.tables:
        console.print()
        console.print(Text(shown(table.title), style="bold"))
        console.print(_drawn(table))
        if table.left_out:
            console.print(Text(f"  and {table.left_out:,} more; --json lists all"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _facts(page: Page) -> "Padding":
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in page.facts:
        grid.add_row(Text(shown(name)), Text(shown(text, LONGEST)))
    return Padding(grid, (0, 0, 0, 2))


def _drawn(table: Table) -> "Padding":
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for column in table.columns:
        grid.add_column(
            Text(column.title),
            justify="right" if column.right else "left",
            no_wrap=not column.wraps,
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*(Text(shown(cell, LONGEST)) for cell in row))
    return Padding(grid, (0, 0, 0, 2))
