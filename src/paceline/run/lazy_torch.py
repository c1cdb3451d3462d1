"""torch, loaded where it is used: whoever only reads settings here, or lacks torch, goes without.

Comes without types, since those that torch ships leave most of what is needed here unknown.
"""

from importlib import import_module
from typing import Any


def torch(part: str = "") -> Any:
    """The module `torch`, or the part of it: `torch("distributed")`."""
    return import_module(f"torch.{part}" if part else "torch")
