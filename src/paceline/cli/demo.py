"""`paceline demo`: the whole way on a recording that comes with paceline."""

from pathlib import Path
from typing import Any

import click

from paceline.cli.options import reporting


@click.command("demo")
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a page for the browser.",
)
@reporting("report")
def command(html: Path | None, **flags: Any) -> None:
    """Diagnose a recording that comes along.

    Four workers train a small model, one of them slowed on purpose; PyTorch's profiler wrote the
    traces. Shows what `paceline diagnose` says of them.
    """
    from paceline.cli.diagnose import show
    from paceline.loop import demo_run

    show(
        (demo_run(),),
        cluster=None,
        fail_if=(),
        html=html,
        perfetto=None,
        max_bytes=None,
        max_ratio=None,
        **flags,
    )
