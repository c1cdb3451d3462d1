"""A page: what a person or a program is shown of a noun, before anybody chose how.

A view (one record, the documented JSON) goes with the same facts as lines and tables of words. The
formats know pages only, so that a new view needs no new format.
"""

import msgspec


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table; numbers stand `right`, long text `wraps`."""

    title: str
    right: bool = False
    wraps: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of cells; `left_out` counts rows that only the JSON view has."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A title, facts as (label, text), tables, and the view that holds all of it for programs."""

    title: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    view: msgspec.Struct


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What the reader's terminal can show; formats for programs ignore it."""

    width: int = 100
    color: bool = False


PLAIN = Look()


LONGEST = 40  # rows of a table that a person reads


def table(title: str, columns: tuple[Column, ...], rows: list[tuple[str, ...]]) -> Table:
    """The table with as many rows as a person reads."""
    left_out = max(0, len(rows) - LONGEST)
    return Table(title=title, columns=columns, rows=tuple(rows[:LONGEST]), left_out=left_out)
