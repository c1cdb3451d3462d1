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
    "plan",
    "rewrite",
    "reduce",
    "write",
    "run",
    "lab",
)


DOORS = {  # functions for a script, each in its module
    "ddp": "paceline.run.ddp",
    "record": "paceline.run.record",
}


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    if name in DOORS:
        return getattr(import_module(DOORS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*ROOMS, *DOORS, "__version__"]
