"""`paceline demo`: the whole loop on real workers here, or a diagnosis of what comes along."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from paceline.cli.ending import say
from paceline.cli.options import reporting
from paceline.cli.printed import printed

FOLDER = Path("paceline-demo")


@click.command("demo")
@click.option(
    "--recorded",
    is_flag=True,
    help="Diagnose a recording that comes along instead of training here.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=FOLDER,
    show_default=True,
    help="Where recordings and the report of the demo go; an earlier demo's are replaced.",
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --recorded, also write a page for the browser.",
)
@reporting("report")
def command(
    *, recorded: bool, folder: Path, html: Path | None, output: Path | None, **flags: Any
) -> None:
    """Train here, find what is slow, change it, and prove the gain.

    Four workers train a small model on this machine: one is slow in backward, one has a slow link,
    one is killed and comes back. Recorded, diagnosed, asked what would help, changed, recorded
    again; in less than a minute, without a network. Where torch is missing, a recording that comes
    along is diagnosed.
    """
    if not recorded and find_spec("torch") is None:
        say("torch is not installed: this is the recording that comes along.", "demo")
        recorded = True
    if recorded:
        _recorded(html, output, **flags)
    else:
        _live(folder, output, **flags)


def _recorded(html: Path | None, output: Path | None, **flags: Any) -> None:
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
        output=output,
        **flags,
    )


def _live(folder: Path, output: Path | None, *, format: str) -> None:
    from paceline import model, write
    from paceline.cli.look import look
    from paceline.loop.prove import Demo

    for part in ("before", "after"):
        shutil.rmtree(folder / part, ignore_errors=True)
    demo = Demo(folder, lambda stage: say(f"{stage} ...", "demo"))
    proof = demo.proof()
    if output is not None and demo.report is not None:
        model.save(demo.report, output)
    if format == "text" and demo.report is not None:
        printed(write.report(demo.report, look=look()) + "\n")
    printed(write.proof(proof, format=format, look=look()))
