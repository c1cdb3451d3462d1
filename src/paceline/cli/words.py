"""Words of the command line that are a language of their own: edits and gates.

They are held against their grammar before any trace is read, and a wrong one is wrong usage.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from paceline.cli.nearest import nearest

if TYPE_CHECKING:
    from paceline.model import Edit

T = TypeVar("T")


def checked(flag: str, parse: Callable[[], T]) -> T:
    """What `parse` returns; its refusal as a wrong use of the flag."""
    from paceline.model import InputError  # loads numpy, so not before it is needed

    try:
        return parse()
    except InputError as error:
        raise click.BadParameter(error.text(), param_hint=flag) from error


def edit(text: str) -> "Edit":
    """The edit that the text says, of a name that exists."""
    from paceline.model import Edit
    from paceline.rewrite import EDITS

    parsed = checked("--edit", lambda: Edit.parse(text))
    names = [known.NAME for known in EDITS]
    if parsed.name not in names:
        raise click.BadParameter(
            f"there is no edit {parsed.name!r}.{nearest(parsed.name, names)}"
            f" There are: {', '.join(names)}.",
            param_hint="--edit",
        )
    return parsed
