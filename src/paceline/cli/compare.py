"""`paceline compare`: what got slower or faster between two runs of one job."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from paceline.cli.options import capped, reporting
from paceline.cli.printed import printed
from paceline.cli.waiting import waiting
from paceline.cli.words import checked


@click.command("compare")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--fail-if",
    metavar="GATE",
    help="Exit with 1 if the step got slower for certain by more, like 'regression>3%'.",
)
@capped
@reporting("comparison")
@click.pass_context
def command(context: click.Context, before: Path, after: Path, **flags: Any) -> None:
    """Say what changed between two runs of one job, beyond noise.

    The whole step, and its parts by worker and kind of op. BEFORE and AFTER are folders of traces,
    or saved profiles (*.profile).
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

    if fail_if is not None:
        step = model.Change(what="step", before_ns=1.0, after_ns=1.0, change=0.0, interval=None)
        same = model.Comparison(step=step, certain=True, parts=(), steps=(1, 1))
        checked("--fail-if", partial(diagnose.regressed, same, fail_if))
    with waiting("Reading and comparing"):
        runs = [profile_of((path,), max_bytes, max_ratio) for path in (before, after)]
        comparison = diagnose.compared(*runs)
        broken = fail_if is not None and diagnose.regressed(comparison, fail_if)
        if output is not None:
            model.save(comparison, output)
        text = write.comparison(comparison, format=format, look=look())
    printed(text)
    if broken:
        printed(f"failed: {fail_if}\n", err=True)
    return broken
