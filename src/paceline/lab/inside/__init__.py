"""What runs in processes of its own, inside the namespaces of a lab.

Started as `python -I -S` with only the standard library, so that each costs milliseconds: nothing
here imports another room, numpy or torch. `started` is the command line.
"""

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[3])
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from importlib import import_module;"
    " sys.exit(import_module('paceline.lab.inside.' + sys.argv[2]).main(sys.argv[3:]))"
)


def started(script: str, *words: str) -> list[str]:
    """The command line that runs `main` of a script of this folder."""
    return [sys.executable, "-I", "-S", "-c", _BOOT, _ROOT, script, *words]
