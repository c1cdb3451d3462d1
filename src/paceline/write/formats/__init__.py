"""How pages are shown, each a module with a NAME and `rendered`; how traces are kept, by ENDINGS.

What several formats share lies beside this folder; the order is that of the help.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from paceline.model import Trace
from paceline.write.formats import json, markdown, native_lines, native_parquet, text
from paceline.write.page import Look, Page


class PageFormat(Protocol):
    """What a module of this folder offers."""

    NAME: str

    def rendered(self, page: Page, look: Look, /) -> str:
        """The whole page, ending in a line break."""
        ...


PAGE_FORMATS: tuple[PageFormat, ...] = (text, markdown, json)


class TraceFormat(Protocol):
    """What a module for traces offers; a file is of the format whose ending its name has."""

    ENDINGS: tuple[str, ...]

    def write(self, traces: Sequence[Trace], path: Path, part: Path, /) -> None:
        """Writes `part`, which will become `path`."""
        ...


TRACE_FORMATS: tuple[TraceFormat, ...] = (native_lines, native_parquet)
