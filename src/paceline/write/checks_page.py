"""What `paceline doctor` found, as a view for programs and a page for people."""

from collections.abc import Sequence

import msgspec

from paceline.model import Check
from paceline.write.page import Column, Page, table

STATES = {True: "works", False: "missing", None: "untested"}


class ChecksView(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON view of `paceline doctor`."""

    schema: int
    checks: tuple[Check, ...]


def checks_page(checks: Sequence[Check]) -> Page:
    """The page that shows them."""
    columns = (
        Column(title="what"),
        Column(title="state"),
        Column(title="found", wraps=True),
        Column(title="cure", wraps=True),
    )
    rows = [(row.what, STATES[row.works], row.found, row.cure) for row in checks]
    missing = [row.what for row in checks if row.works is False]
    untested = [row.what for row in checks if row.works is None]
    verdict = f"missing: {', '.join(missing)}" if missing else "everything is there"
    if untested:
        verdict += f"; untested: {', '.join(untested)}"
    return Page(
        title="What works here",
        facts=(("in short", verdict),),
        tables=(table("Looked at", columns, rows),),
        view=ChecksView(schema=1, checks=tuple(checks)),
    )
