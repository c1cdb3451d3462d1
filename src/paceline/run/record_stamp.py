"""Moments on the device: taken without waiting for it, known as nanoseconds some time later.

On a CPU a moment is known at once. On CUDA an event is put into the current stream; its time is
known when the device has come that far, as a distance from the event of the step before, the
first of which was waited for. Untested on a GPU.
"""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

from paceline.run.lazy_torch import torch

Stamp: TypeAlias = Any  # int of a CPU, torch.cuda.Event of a GPU


class HostStamps:
    """Moments of a CPU, which are known at once."""

    now: Callable[[], Stamp] = staticmethod(time.time_ns)

    def known(self, last: Stamp) -> bool:  # noqa: ARG002  as of CUDA
        """True if all moments up to the last are known."""
        return True

    def ns(self, stamp: Stamp) -> int:
        """Nanoseconds since 1970."""
        return int(stamp)

    def move(self, last: Stamp) -> None:
        """Later moments follow this one."""


class CudaStamps:
    """Moments of the current CUDA device."""

    def __init__(self) -> None:
        self.cuda = torch("cuda")
        self.cuda.synchronize()
        self.anchor = self.now()
        self.anchor.synchronize()
        self.anchor_ns = float(time.time_ns())

    def now(self) -> Stamp:
        """The moment at which the current stream comes to this point."""
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def known(self, last: Stamp) -> bool:
        """True if the device has passed the moment."""
        return bool(last.query())

    def ns(self, stamp: Stamp) -> int:
        """Nanoseconds since 1970 as the host's clock shows them."""
        return round(self.anchor_ns + 1e6 * float(self.anchor.elapsed_time(stamp)))

    def move(self, last: Stamp) -> None:
        """Counts later moments from this one: `elapsed_time` is a float, exact for short times."""
        self.anchor_ns += 1e6 * float(self.anchor.elapsed_time(last))
        self.anchor = last


Stamps: TypeAlias = HostStamps | CudaStamps
