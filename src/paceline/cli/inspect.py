"""`paceline inspect`: what is in the traces of a job, before anything is concluded from them."""

from pathlib import Path
from typing import Any

import click

from paceline.cli.options import capped, reporting
from paceline.cli.waiting import waiting


@click.command("inspect")
@click.argument("run", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--save-cluster",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save the machines and measured links, to correct and go on from.",
)
@capped
@reporting("profile")
def command(run: tuple[Path, ...], **flags: Any) -> None:
    """Show what the traces of a job hold.

    Workers, steps, lanes, groups, clocks, links, gaps; what matched and what did not; what could
    not be used. RUN is a folder with one trace a worker, or the traces themselves.
    """
    show(run, **flags)


def show(
    run: tuple[Path, ...],
    *,
    format: str,
    output: Path | None,
    save_cluster: Path | None,
    max_bytes: str | None,
    max_ratio: int | None,
) -> None:
    """Reads, stitches, saves and prints."""
    from paceline import model, read, stitch, write
    from paceline.cli.look import look

    caps = read.DEFAULT_CAPS
    if max_bytes is not None or max_ratio is not None:
        caps = read.Caps(
            largest_bytes=caps.largest_bytes if max_bytes is None else model.parse_bytes(max_bytes),
            ratio=caps.ratio if max_ratio is None else max_ratio,
        )
    with waiting("Reading and stitching"):
        traces = read.traces(run[0] if len(run) == 1 else run, caps=caps)
        profile = stitch.profile(traces)
        cluster = stitch.cluster(profile)
        if output is not None:
            model.save(profile, output)
        if save_cluster is not None:
            model.save(cluster, save_cluster)
        text = write.inspection(traces, profile, cluster, format=format, look=look())
    click.echo(text, nl=False)
