"""The view of a page as JSON in ASCII: what programs read, and safe to print on any terminal."""

import json

import msgspec

from paceline.write.page import Look, Page

NAME: str = "json"


def rendered(page: Page, _look: Look) -> str:
    """The view, with every field of its documentation; NaN and infinity are refused."""
    return json.dumps(msgspec.to_builtins(page.view), indent=2, allow_nan=False) + "\n"
