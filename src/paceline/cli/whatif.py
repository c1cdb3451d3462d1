"""`paceline whatif`: what a step would take with something changed."""

from pathlib import Path
from typing import Any

import click

from paceline.cli.options import capped, shown_as
from paceline.cli.printed import printed
from paceline.cli.waiting import waiting
from paceline.cli.words import edit


@click.command("whatif")
@click.argument("run", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--edit",
    "edits",
    multiple=True,
    required=True,
    metavar="EDIT",
    help="A change, like 'speed{worker=3,factor=2}'; several are also tried together.",
)
@click.option(
    "--cluster",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A cluster file, for edits that ask what no trace has shown.",
)
@capped
@shown_as
def command(run: tuple[Path, ...], **flags: Any) -> None:
    """Say what a step would take with something changed.

    Each edit alone, then all in the order given. RUN is a folder with one trace a worker, the
    traces themselves, or a saved profile (*.profile). Edits:

    \b
    speed{worker=3,factor=2}     a worker, link, kind or layer twice as fast
    typical{worker=3}            a worker like the median of its peers
    no-communication{}           a bound: nothing is ever sent
    perfect-overlap{}            a bound: all that can hide behind work does
    fuse-buckets{limit_bytes=50MB}, split-buckets{limit_bytes=5MB}
    collective{algorithm=ring}   or tree, hierarchical, ps, forest
    workers{count=16}            more or fewer workers
    accumulate{steps=4}          micro-batches between two exchanges of gradients
    """  # noqa: D301
    show(run, **flags)


def show(
    run: tuple[Path, ...],
    *,
    edits: tuple[str, ...],
    cluster: Path | None,
    format: str,
    max_bytes: str | None,
    max_ratio: int | None,
) -> None:
    """Loads, plays and prints."""
    from paceline import diagnose, rewrite, write
    from paceline.cli.load import cluster_of, profile_of
    from paceline.cli.look import look

    parsed = [edit(text) for text in edits]
    with waiting("Reading and simulating"):
        profile = profile_of(run, max_bytes, max_ratio)
        # hops have shown each link; a collective shows only the slowest
        known = cluster is not None or rewrite.has_hops(profile.graph)
        world = cluster_of(profile, cluster, as_ports=True) if known else None
        found = diagnose.whatif(profile, parsed, world)
        text = write.whatif(*found, format=format, look=look())
    printed(text)
