"""`paceline demo`: the whole way on a recording that comes with paceline."""

from typing import Any

import click

from paceline.cli.options import reporting


@click.command("demo")
@reporting("profile")
def command(**flags: Any) -> None:
    """Look at a recording that comes along.

    Four workers train a small model, one of them slowed on purpose; PyTorch's profiler wrote the
    traces. Shows what `paceline inspect` finds in them.
    """
    from paceline.cli.inspect import show
    from paceline.loop import demo_run

    show((demo_run(),), max_bytes=None, max_ratio=None, **flags)
