"""`paceline diagnose`: what slows a job, in milliseconds of every step, and each cure."""

from pathlib import Path
from typing import Any

import click

from paceline.cli.options import capped, reporting
from paceline.cli.waiting import waiting


@click.command("diagnose")
@click.argument("run", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--cluster", type=click.Path(path_type=Path), metavar="FILE", help="What the machines are."
)
@click.option(
    "--fail-if",
    multiple=True,
    metavar="GATE",
    help="Exit with 1 if a finding costs more, like 'straggler>5%'.",
)
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write a page to look at."
)
@click.option(
    "--perfetto",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a step, measured and simulated, for the Perfetto viewer.",
)
@capped
@reporting("report")
@click.pass_context
def command(context: click.Context, run: tuple[Path, ...], **flags: Any) -> None:
    """Say what slows a job, which worker, why, and what it costs.

    RUN is a folder with one trace a worker, the traces themselves, or a saved profile.
    """
    if show(run, **flags):
        context.exit(1)


def show(
    run: tuple[Path, ...],
    *,
    cluster: Path | None,
    fail_if: tuple[str, ...],
    html: Path | None,
    perfetto: Path | None,
    format: str,
    output: Path | None,
    max_bytes: str | None,
    max_ratio: int | None,
) -> bool:
    """Loads, diagnoses, saves and prints; true if a gate failed."""
    from paceline import diagnose, model, read, write
    from paceline.cli.load import profile_of
    from paceline.cli.look import look

    with waiting("Reading and diagnosing"):
        profile = profile_of(run, max_bytes, max_ratio)
        declared = None if cluster is None else read.cluster(cluster)
        report = diagnose.report(profile, declared)
        broken = [gate for gate in fail_if if diagnose.failed(report, gate)]
        if output is not None:
            model.save(report, output)
        if html is not None:
            write.report_file(report, profile, html)
        if perfetto is not None:
            steps = diagnose.median_step(profile)
            write.perfetto(profile.graph, steps, perfetto)
        text = write.report(report, format=format, look=look())
    click.echo(text, nl=False)
    for gate in broken:
        click.echo(f"failed: {gate}", err=True)
    return bool(broken)
