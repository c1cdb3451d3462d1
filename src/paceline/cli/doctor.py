"""`paceline doctor`: what is installed, what works here, what is untested."""

import click

from paceline.cli.options import shown_as
from paceline.cli.printed import printed


@click.command("doctor")
@shown_as
def command(format: str) -> None:
    """Say what is installed, works here, or is untested.

    What is missing is needed only for what stands beside it; reading traces and all that is
    computed from them needs no more than paceline itself.
    """
    from paceline import write
    from paceline.cli.look import look
    from paceline.loop import doctor

    printed(write.checks(doctor.checks(), format=format, look=look()))
