"""One buffer to be summed over all workers: what the training thread hands to the carrier.

Sums are formed by numpy where it knows the type of the elements, else by torch; both look the same
from here. The average is formed by dividing each sum once, where it is complete; half precision is
divided beforehand, since sums of it may be too large for it.
"""

import threading
from collections.abc import Sequence
from typing import Any

import torch

from paceline.model import PacelineError
from paceline.reduce import Message
from paceline.run.stamps import Stamps

_BY_NUMPY = (torch.float32, torch.float64)


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The memory of a flat tensor."""
    raw: Any = tensor.view(torch.uint8).numpy()
    return memoryview(raw)


class Job:
    """A flat tensor, the messages that sum it, and who waits for it."""

    __slots__ = (
        "array", "bucket", "bytes", "divisor", "done", "error", "future", "group", "issued", "item",
        "lasts", "messages", "number", "stamps", "tensor", "whole",
    )  # fmt: skip

    def __init__(
        self, tensor: torch.Tensor, messages: Sequence[Message], *, bucket: int, number: int,
        divisor: int, whole: "torch.Tensor | None" = None,
        future: "torch.futures.Future[torch.Tensor] | None" = None,
    ) -> None:  # fmt: skip
        self.tensor = tensor
        self.messages = messages
        self.bucket = bucket
        self.number = number
        self.divisor = divisor
        self.whole = whole  # what the future brings, if this is the last part of it
        self.future = future
        self.item = tensor.element_size()
        # Any: numpy's and torch's slices, which add and divide in place alike
        self.array: Any = tensor.numpy() if tensor.dtype in _BY_NUMPY else tensor
        self.bytes = bytes_of(tensor)
        self.done = threading.Event()
        self.error: PacelineError | None = None
        self.stamps: Stamps | None = None
        self.group = self.issued = -1
        self.lasts: list[int] = []

    def prepared(self) -> None:
        """Divides what must not wait for its sum."""
        if self.tensor.dtype is torch.float16:
            self.array /= self.divisor
            self.divisor = 1

    def added(self, begin: int, end: int, what: Any, *, completes: bool) -> None:
        """Adds what came to the elements; of the last that came, forms the average."""
        own = self.array[begin:end]
        own += what
        if completes and self.divisor != 1:
            own /= self.divisor

    def finished(self, error: PacelineError | None) -> None:
        """Lets everybody go on who waits for it."""
        self.error = error
        if self.future is not None and self.whole is not None:
            if error is None:
                self.future.set_result(self.whole)
            else:
                self.future.set_exception(error)  # pyright: ignore[reportArgumentType]
        self.done.set()
