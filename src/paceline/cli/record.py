"""`paceline record`: a prefix before the command that starts a training job."""

import os
import shutil
from pathlib import Path

import click

from paceline.cli.options import shown_as
from paceline.cli.printed import printed


@click.command("record", context_settings={"ignore_unknown_options": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="RUN",
    help="The folder to record into; it is made if need be.",
)
@click.option(
    "--window",
    multiple=True,
    metavar="A:B",
    default=("10:30",),
    show_default=True,
    help="Steps to record in detail, from A up to B; may be given several times.",
)
@click.option("--no-profile", is_flag=True, help="Record no steps in detail.")
@click.option("--no-norms", is_flag=True, help="Do not take norms of gradients.")
@click.option("--force", is_flag=True, help="Replace an earlier recording in RUN.")
@shown_as
@click.pass_context
def command(
    context: click.Context,
    command: tuple[str, ...],
    *,
    output: Path,
    window: tuple[str, ...],
    no_profile: bool,
    no_norms: bool,
    force: bool,
    format: str,
) -> None:
    """Run a training job and record what its workers do.

    COMMAND is what starts the job, after two dashes; neither it nor the script is changed. Each
    worker that joins a process group of torch records. Ends with the exit code of COMMAND.

    \b
    paceline record -o RUN -- torchrun --nproc-per-node 4 train.py
    """  # noqa: D301
    if shutil.which(command[0]) is None:
        raise click.BadParameter(f"there is no program {command[0]!r}.", param_hint="COMMAND")
    from paceline import write
    from paceline.cli.look import look
    from paceline.cli.words import checked
    from paceline.loop import record as recording
    from paceline.run import record_settings

    windows = checked("--window", lambda: record_settings.windows(window))
    settings = record_settings.Settings(
        folder=output, windows=() if no_profile else windows, norms=not no_norms
    )
    recording.prepare(output, force=force)
    found = recording.record(command, settings, aside=format != "text")
    if format != "text" or os.environ.get("PET_NODE_RANK", "0") == "0":  # once for all machines
        printed(write.recording(found, format=format, look=look()))
    context.exit(found.exit_code or 0)
