"""`paceline diagnose`: what slows a job, in milliseconds of every step, and each cure."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from paceline.cli.options import capped, reporting
from paceline.cli.printed import printed
from paceline.cli.waiting import waiting
from paceline.cli.words import checked


@click.command("diagnose")
@click.argument("run", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A cluster file: machines and links, instead of what the traces show.",
)
@click.option(
    "--fail-if",
    multiple=True,
    metavar="GATE",
    help="Exit with 1 if a finding costs more, like 'straggler>5%'.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a page for the browser.",
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

    RUN is a folder with one trace a worker, the traces themselves, or a saved profile (*.profile).

    \b
    paceline diagnose RUN --html report.html
    paceline diagnose RUN --json --fail-if 'straggler>5%' --fail-if 'any>20ms'
    """  # noqa: D301
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
    from paceline import diagnose, model, write
    from paceline.cli.load import cluster_of, profile_of
    from paceline.cli.look import look

    nothing = model.Report(findings=(), checked=(), step_ns=(0.0, 0.0, 0.0))
    for gate in fail_if:
        checked("--fail-if", partial(diagnose.failed, nothing, gate))
    with waiting("Reading and diagnosing"):
        profile = profile_of(run, max_bytes, max_ratio)
        report = diagnose.report(profile, cluster_of(profile, cluster))
        broken = [gate for gate in fail_if if diagnose.failed(report, gate)]
        if output is not None:
            model.save(report, output)
        if html is not None:
            write.report_file(report, profile, html)
        if perfetto is not None:
            steps = diagnose.median_step(profile)
            write.perfetto(profile.graph, steps, perfetto)
        text = write.report(report, format=format, look=look())
    printed(text)
    for gate in broken:
        printed(f"failed: {gate}\n", err=True)
    return bool(broken)
