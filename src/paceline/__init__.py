"""paceline finds what slows a distributed training job, and proves what would fix it.

The rooms are verbs and load when first used, so that `import paceline` costs milliseconds:
`paceline.read.trace(path)`, `paceline.stitch.profile(traces)`, and so on.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

ROOMS = (
    "model",
    "read",
    "stitch",
    "simulate",
    "diagnose",
    "rewrite",
    "reduce",
    "write",
    "run",
    "lab",
)


FUNCTIONS = {"record": "paceline.run.record"}  # what a training script calls, and where it lives


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    if name in FUNCTIONS:
        return getattr(import_module(FUNCTIONS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*ROOMS, *FUNCTIONS, "__version__"]
