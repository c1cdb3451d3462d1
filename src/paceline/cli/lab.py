"""`paceline lab`: a cluster file as real processes on this machine, and how closely it is met."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paceline.cli.options import shown_as
from paceline.cli.printed import printed
from paceline.cli.words import checked

if TYPE_CHECKING:
    from paceline.loop.lab_run import Pace

MODES = ("auto", "root", "user", "loopback")

moded = click.option(
    "--mode",
    type=click.Choice(MODES),
    default="auto",
    show_default=True,
    help="Who owns the namespaces; loopback has none and emulates no links.",
)


@click.group("lab")
def command() -> None:
    """Emulate a cluster on this machine.

    Each machine of a cluster file becomes a network namespace with its own processes; links get
    their rates, latencies and losses, machines their cores.
    """


@command.command("run")
@click.argument("cluster", type=click.Path(path_type=Path))
@click.argument("words", metavar="-- COMMAND...", nargs=-1, type=click.UNPROCESSED, required=True)
@moded
@click.option("--timeout", default="24h", show_default=True, help="End the command after this.")
@click.option(
    "--grace",
    default="15s",
    show_default=True,
    help="When one machine failed, give the others so long to end by themselves.",
)
@click.option(
    "--show",
    type=click.Choice(("all", "first", "none")),
    default="all",
    show_default=True,
    help="Whose output to show, each line with the machine's name before it.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Where workers meet.  [default: 29500; on loopback a free one]",
)
@click.option(
    "--faults",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A schedule of what goes wrong, to whom, at which step.",
)
@click.option(
    "--compute",
    metavar="TIME",
    help="One step's forward and backward on a machine of speed 1; or off, to compute as fast as"
    " this machine can.  [default: from the first steps, if the cluster gives speeds]",
)
@click.option("--spread", default="2%", show_default=True, help="How much compute varies.")
@click.option("--drift", default="1%", show_default=True, help="How much a worker drifts.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of both.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Keep there what was padded and which faults struck.",
)
@click.pass_context
def run(
    context: click.Context,
    cluster: Path,
    *,
    words: tuple[str, ...],
    mode: str,
    timeout: str,
    grace: str,
    show: str,
    port: int | None,
    faults: Path | None,
    keep: Path | None,
    **how: Any,
) -> None:
    """Run a command on every machine of a cluster.

    Like `paceline lab run cluster.yaml -- torchrun train.py`: torchrun learns from its environment
    how many machines there are and which one it is on, so it needs no flags.
    """
    from paceline import model, read
    from paceline.cli.ending import say
    from paceline.loop.lab_run import lab_run

    timeout_s = checked("--timeout", lambda: model.parse_duration_s(timeout))
    grace_s = checked("--grace", lambda: model.parse_duration_s(grace))
    pace = _pace(**how)
    schedule = None if faults is None else read.faults(faults)
    ended = lab_run(
        read.cluster(cluster), words, env=dict(os.environ), faults=schedule, pace=pace,
        folder=keep, mode=mode, port=port, timeout_s=timeout_s, grace_s=grace_s, show=show,
    )  # fmt: skip
    if ended.code:
        last = "".join(f"\n    {model.shown(line)}" for line in ended.lines)
        said = f" It last said:{last}" if last else ""
        say(f"machine {model.shown(ended.machine)} failed first, with code {ended.code}.{said}")
        context.exit(ended.code)


def _pace(*, compute: str | None, spread: str, drift: str, seed: int) -> "Pace":
    from paceline.loop.lab_run import Pace
    from paceline.model import parse_duration_ns

    shares = {
        "spread": checked("--spread", lambda: _share(spread)),
        "drift": checked("--drift", lambda: _share(drift)),
    }
    if compute is None or compute == "off":
        return Pace(padded=None if compute is None else False, seed=seed, **shares)
    ms = checked("--compute", lambda: parse_duration_ns(compute)) / 1e6
    return Pace(padded=True, compute_ms=ms, seed=seed, **shares)


@command.command("check")
@click.argument("cluster", type=click.Path(path_type=Path))
@moded
@click.option(
    "--seconds",
    type=click.FloatRange(0.2, 60.0),
    default=1.0,
    show_default=True,
    help="How long to measure each figure.",
)
@click.option(
    "--tolerance",
    metavar="SHARE",
    help="Exit with 1 if anything asked for is off by more, like 5%.",
)
@shown_as
@click.pass_context
def check(
    context: click.Context,
    cluster: Path,
    *,
    mode: str,
    seconds: float,
    tolerance: str | None,
    format: str,
) -> None:
    """Measure the lab of a cluster: asked beside measured.

    Every link both ways, with nothing else on it, and the cores of machines that have a number of
    them.
    """
    from paceline import lab, read, write
    from paceline.cli.look import look

    share = None if tolerance is None else checked("--tolerance", lambda: _share(tolerance))
    found = lab.check(read.cluster(cluster), mode=mode, seconds=seconds)
    printed(write.fidelity(found, format=format, look=look()))
    worst = max(map(abs, found.errors()), default=0.0)
    if share is not None and worst > share:
        printed(f"failed: off by {worst:.1%}, allowed are {share:.1%}\n", err=True)
        context.exit(1)


def _share(text: str) -> float:
    from paceline.model import InputError

    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < float("inf"):
        raise InputError(f"{text!r} is no share.", expected="Write it like 5% or 0.05.")
    return share
