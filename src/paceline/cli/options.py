"""Flags that several commands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

FORMATS = ("text", "md", "json")

P = ParamSpec("P")
R = TypeVar("R")


def shown_as(function: Callable[..., R]) -> Callable[..., R]:
    """Adds --format and --json; passes `format`."""

    @click.option(
        "--format",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How to show it: for the terminal, for a pull request, for a program.",
    )
    @click.option(
        "--json",
        "as_json",
        is_flag=True,
        allow_from_autoenv=False,
        help="Short for --format json.",
    )
    @functools.wraps(function)
    def wrapped(*, format: str, as_json: bool, **others: Any) -> R:
        return function(format="json" if as_json else format, **others)

    return wrapped


def reporting(noun: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Adds --format, --json and -o, which saves the noun itself; passes `format` and `output`."""

    def decorated(function: Callable[..., R]) -> Callable[..., R]:
        saving = click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=f"Save the {noun} itself, to go on from; .gz compresses.",
        )
        return shown_as(saving(function))

    return decorated


def capped(function: Callable[P, R]) -> Callable[P, R]:
    """Adds --max-bytes and --max-ratio, the limits on what one file may ask for."""
    size = click.option(
        "--max-bytes",
        metavar="SIZE",
        help="Refuse a file with more content, decompressed.  [default: 8GiB]",
    )
    ratio = click.option(
        "--max-ratio",
        type=click.IntRange(min=1),
        metavar="N",
        help="Refuse a file that compresses better than N to 1.  [default: 200]",
    )
    return size(ratio(function))
