"""`lab::work`: an op that lasts until a time, as the op of a slower machine would.

It stands in a profile where it happens, on the thread that waits for it, and lets other threads of
the worker go on.
"""

import time
from functools import cache
from typing import Any

import torch


@cache
def _library() -> tuple[Any, Any, torch.Tensor]:
    library: Any = torch.library.Library("lab", "DEF")
    library.define("work(Tensor near, int until_ns) -> ()")
    library.impl("work", _work, "CompositeExplicitAutograd")
    return library, torch.ops.lab.work, torch.empty(0)


def _work(near: torch.Tensor, until_ns: int) -> None:  # noqa: ARG001  an op needs a tensor
    while (left := until_ns - time.perf_counter_ns()) > 0:
        time.sleep(left / 1e9)


def work(for_ns: int) -> None:
    """Works for so long, or a little longer."""
    until = time.perf_counter_ns() + for_ns
    _, op, near = _library()
    op(near, until)
