"""The command line: words in, a noun's file or a documented view out, an exit code at the end.

One file a command: load, call, write. Commands load when they are named, and what computes loads
when a command runs, so that help is there at once.
"""

from importlib import import_module

import click

from paceline import __version__
from paceline.cli.ending import guarded
from paceline.cli.nearest import nearest
from paceline.cli.settings import settings

COMMANDS = (
    "demo", "record", "inspect", "diagnose", "compare", "whatif", "plan", "lab", "explain",
    "doctor",
)  # fmt: skip


class Commands(click.Group):
    """The commands of `COMMANDS`, each in the file of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click asks so
        """All commands, in the order of a job's life."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name; a settings file may hold its flags."""
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"paceline.cli.{cmd_name}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; a misspelled one gets a hint."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = nearest(args[0], COMMANDS)
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    context_settings={
        "auto_envvar_prefix": "PACELINE",
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def paceline(ctx: click.Context) -> None:
    """Find what slows a distributed training job, and prove what would fix it.

    Exit codes: 0 fine, 1 a gate failed, 2 usage, 3 input unreadable, 4 no feasible plan,
    75 preempted and resumable, 130 interrupted.
    """
    ctx.default_map = settings(paceline, ctx)


def main(arguments: list[str] | None = None) -> int:
    """The exit code of one command line; whatever goes wrong ends as one message."""
    return guarded(paceline, arguments)
