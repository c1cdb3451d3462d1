"""The environment in which a training script, unchanged, calls on paceline's hooks.

PYTHONPATH leads to `boot`, whose `sitecustomize` waits for torch and then installs the hooks that
PACELINE_HOOKS names. It reaches workers through any launcher that hands its environment on.
"""

import os
from collections.abc import Mapping
from importlib.resources import files

HOOKS = "PACELINE_HOOKS"


def environment(given: Mapping[str, str], hook: str, **settings: str) -> dict[str, str]:
    """The given environment with one more hook and its settings; a hook enters only once.

    A hook is a module of paceline with a function `install()`.
    """
    boot = str(files("paceline.loop") / "boot")
    paths = [path for path in given.get("PYTHONPATH", "").split(os.pathsep) if path]
    hooks = [name for name in given.get(HOOKS, "").split(",") if name]
    return {
        **given,
        **settings,
        "PYTHONPATH": os.pathsep.join([boot, *(path for path in paths if path != boot)]),
        HOOKS: ",".join([*(name for name in hooks if name != hook), hook]),
    }
