"""`paceline compare`: what got slower or faster between two runs of one job."""

from pathlib import Path
from typing import Any

import click

from paceline.cli.options import capped, reporting
from paceline.cli.waiting import waiting


@click.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--fail-if",
    metavar="GATE",
    help="Exit with 1 if the step got slower by more, like 'regression>3%'.",
)
@capped
@reporting("comparison")
@click.pass_context
def command(context: click.Context, before: Path, after: Path, **flags: Any) -> None:
    """Compare two runs of one job: the step, and the parts that changed by more than noise.

    BEFORE and AFTER are folders of traces, or saved profiles.
    """
    if show(before, after, **flags):
        context.exit(1)


def show(
    before: Path,
    after: Path,
    *,
    fail_if: str | None,
    format: str,
    output: Path | None,
    max_bytes: str | None,
    max_ratio: int | None,
) -> bool:
    """Loads both, compares, saves and prints; true if the gate failed."""
    from paceline import diagnose, model, write
    from paceline.cli.load import profile_of
    from paceline.cli.look import look

    with waiting("Reading and comparing"):
        runs = [profile_of((path,), max_bytes, max_ratio) for path in (before, after)]
        comparison = diagnose.compared(*runs)
        broken = fail_if is not None and diagnose.regressed(comparison, fail_if)
        if output is not None:
            model.save(comparison, output)
        text = write.comparison(comparison, format=format, look=look())
    click.echo(text, nl=False)
    if broken:
        click.echo(f"failed: {fail_if}", err=True)
    return broken
