"""What the terminal at stdout can show; a file or a pipe gets 100 columns without color."""

import os
import shutil
import sys

from paceline.write import Look


def look() -> Look:
    """The width and the colors of stdout; NO_COLOR and TERM=dumb are respected."""
    if not sys.stdout.isatty():
        return Look()
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Look(width=max(40, shutil.get_terminal_size().columns), color=not plain)
