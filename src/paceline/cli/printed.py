"""How a page reaches stdout: whole, or quietly not at all where the reader has hung up.

The command then goes on, so that `paceline diagnose --fail-if ... | head` still ends with the code
of its gate.
"""

import os
import sys

import click


def printed(text: str, *, err: bool = False) -> None:
    """Writes the text to stdout, or to stderr."""
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(text, nl=False, err=err)
        stream.flush()
    except BrokenPipeError:
        # what Python flushes at exit has nowhere to go either
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
