"""How pages are shown, each a module with a NAME and `rendered`.

What several formats share lies beside this folder; the order is that of the help.
"""

from typing import Protocol

from paceline.write.formats import json, markdown, text
from paceline.write.page import Look, Page


class PageFormat(Protocol):
    """What a module of this folder offers."""

    NAME: str

    def rendered(self, page: Page, look: Look, /) -> str:
        """The whole page, ending in a line break."""
        ...


PAGE_FORMATS: tuple[PageFormat, ...] = (text, markdown, json)
