"""How a command ends: its exit code, and one message where something went wrong.

The user never sees a traceback, except for a defect of paceline itself under PACELINE_DEBUG=1.
"""

import os
import sys

import click

UNREADABLE = 3
INTERRUPTED = 130
DEFECT = 1

COMPLETING = "_PACELINE_COMPLETE"  # set by the shell that asks for completions

REPORT = "This is a defect of paceline. Please report it with what PACELINE_DEBUG=1 prints."


def guarded(command: click.Command, arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a name that the terminal cannot show is no reason to stop
            reconfigure(errors="backslashreplace")
    try:
        code = command.main(arguments, "paceline", COMPLETING, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _refused(error)
    except (click.Abort, KeyboardInterrupt):
        say("interrupted.")
        return INTERRUPTED
    except SystemExit:
        # click exits by itself in two cases: it completed words for a shell, or the pipe is gone
        if COMPLETING in os.environ:
            raise
        return _hung_up()
    except Exception as error:  # noqa: BLE001  the last door: past it there are only tracebacks
        return _failed(error)
    return code if isinstance(code, int) else 0


def say(text: str, label: str = "error") -> None:
    """Writes a message for the user to stderr."""
    click.echo(f"{label}: {text}", err=True)


def _refused(error: click.ClickException) -> int:
    text = error.format_message()
    if not text.replace("\n", "").isprintable():  # a file's name that was taken for a flag
        from paceline.model import shown

        text = shown(text)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(error.ctx.get_usage(), err=True)
        text = f"{text} {error.ctx.command_path} --help says more."
    say(text)
    return error.exit_code


def _hung_up() -> int:
    # The reader of the pipe has enough: what Python flushes at exit has nowhere to go.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(error: Exception) -> int:
    from paceline.model import PacelineError, shown  # loads numpy, so not before it is needed

    if os.environ.get("PACELINE_DEBUG") == "1":
        sys.excepthook(type(error), error, error.__traceback__)
    if isinstance(error, PacelineError):
        say(error.text())
        return error.exit_code
    if isinstance(error, OSError):
        place = f"{shown(error.filename)}: " if error.filename else ""
        say(f"{place}{shown(error.strerror or error)}.")
        return UNREADABLE
    if isinstance(error, MemoryError):
        say("the machine has too little memory for this input.")
        return UNREADABLE
    say(f"{type(error).__name__}: {shown(error)}\n{REPORT}")
    return DEFECT
