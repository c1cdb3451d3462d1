"""A table of comma-separated values as a list of mappings, like a list in YAML.

The first line names the columns. An empty cell is not given; a cell in quotes is still a plain
value, since CSV quotes only protect commas.
"""

import csv
import io
from pathlib import Path

from paceline.model import InputError, quoted
from paceline.read.opened import Opened
from paceline.read.yaml_text import Value, refused, text_of


def rows(path: Path) -> list[Value]:
    """One mapping a row, from column name to cell; blank lines are skipped."""
    reader = csv.reader(io.StringIO(text_of(Opened(path)), newline=""), strict=True)
    try:
        first = next(reader, None) or [""]
        header = [cell.strip() for cell in first]
        _check_header(header, path)
        return [_row(header, row, reader.line_num, path) for row in reader if row]
    except csv.Error as error:
        raise refused(
            path, reader.line_num, f"this is not CSV ({error}).", cure="Look at the quotes."
        ) from error


def _check_header(header: list[str], path: Path) -> None:
    if not any(header):
        raise InputError(
            "holds no columns.", where=path, cure="Name the columns in the first line."
        )
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise refused(
                path, 1, f"column {quoted(name)} is named twice.", cure="Keep one of them."
            )
        seen.add(name)


def _row(header: list[str], row: list[str], line: int, path: Path) -> Value:
    if len(row) != len(header):
        raise refused(
            path, line, f"a row of {len(row)} cells.",
            f"The first line names {len(header)} columns.",
        )  # fmt: skip
    cells = zip(header, (cell.strip() for cell in row), strict=True)
    return Value(line, {name: Value(line, cell, plain=True) for name, cell in cells})
