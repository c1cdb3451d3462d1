"""`paceline doctor`: what is installed, what works here, what is untested."""

import click

from paceline.cli.options import shown_as


@click.command("doctor")
@shown_as
def command(format: str) -> None:
    """Say what is installed, what works on this machine, and what is untested."""
    from paceline import write
    from paceline.cli.look import look
    from paceline.loop import doctor

    click.echo(write.checks(doctor.checks(), format=format, look=look()), nl=False)
