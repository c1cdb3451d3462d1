"""Squared norms of gradients, as often as half a percent of the time allows.

On a CPU, reading a gradient costs as much as copying it: about nothing beside long steps, a lot
beside short ones. So norms are taken while all of them together took less than that share of the
time; steps in between have none. A bucket is scaled and its norm taken piece by piece, so that
each piece comes from memory once.
"""

import time
from typing import Any

from paceline.run.lazy_torch import torch

SHARE = 0.005
_PIECE = 1 << 15  # numbers; with eight bytes each a quarter of a MiB, which a cache holds
_WHOLE = 4  # bytes of a number whose squares can be summed up as they are
_FIRST_NS = 1_000_000_000  # what the first steps may take before there is any time to share


class Norms:
    """Takes norms while there is time for them; each worker decides for itself."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = self.due = wanted
        self.began_ns = time.monotonic_ns()
        self.spent_ns = 0

    def decide(self) -> None:
        """Before a step: is there time for its norms?"""
        passed = time.monotonic_ns() - self.began_ns + _FIRST_NS
        self.due = self.wanted and self.spent_ns < SHARE * passed

    def squared(self, flat: Any, factor: float | None = None) -> Any:
        """The squared norm of a flat tensor, itself a tensor: nothing waits for the device.

        With a factor the tensor is multiplied by it afterwards.
        """
        if flat.is_sparse:
            return None
        began = time.thread_time_ns()
        library = torch()
        kind = library.float32 if flat.itemsize < _WHOLE else None
        norm = library.linalg.vector_norm
        if factor is None or flat.device.type != "cpu":
            whole = norm(flat, dtype=kind)
            total = whole * whole
            if factor is not None:
                flat.mul_(factor)
        else:
            each: list[Any] = []
            for piece in flat.split(_PIECE):
                each.append(norm(piece, dtype=kind))
                piece.mul_(factor)
            total = library.stack(each).square_().sum()
        took = time.thread_time_ns() - began
        self.spent_ns += took if factor is None else took // 2  # scaling takes its part anyway
        return total
