"""A page in Markdown, for pull requests: a heading, a list of facts, tables.

Names come from files, so that whatever Markdown or HTML could read as markup is escaped.
"""

import re

from paceline.model import shown
from paceline.write.page import Look, Page, Table

NAME: str = "md"
LONGEST = 2000  # characters of one cell
# a bare www. becomes a link on GitHub, as http:// does
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|~<>&$@:]|(?<=www)\.)", re.IGNORECASE)


def rendered(page: Page, _look: Look) -> str:
    """The page in Markdown as GitHub reads it."""
    lines = [f"## {escaped(page.title)}", ""]
    lines += [f"- **{escaped(name)}** {escaped(text)}" for name, text in page.facts]
    for table in page.tables:
        lines += ["", f"### {escaped(table.title)}", "", *_rows(table)]
        if table.left_out:
            lines += ["", f"and {table.left_out:,} more; `--json` lists all"]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """The text as Markdown that shows it literally, on one line."""
    return _MARKUP.sub(r"\\\1", shown(text, LONGEST))


def _rows(table: Table) -> list[str]:
    head = [escaped(column.title) for column in table.columns]
    rule = ["---:" if column.right else "---" for column in table.columns]
    body = [[escaped(cell) for cell in row] for row in table.rows]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
