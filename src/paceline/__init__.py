"""paceline finds what slows a distributed training job, and proves what would fix it.

The rooms are verbs and load when first used, so that `import paceline` costs milliseconds:
`paceline.read.trace(path)`, `paceline.stitch.profile(traces)`, and so on.
"""

from importlib import import_module
from types import ModuleType

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


def __getattr__(name: str) -> ModuleType:
    if name in ROOMS:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*ROOMS, "__version__"]
