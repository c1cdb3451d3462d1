"""Watches the buckets of one DistributedDataParallel through its communication hook.

The hook does what the module would have done without it, to the last bit, or what the hook does
that the user or paceline's transport registers; around that it notes when each bucket was issued
and was complete, and the squared norm of the gradient before and after.
"""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from paceline.run.lazy_torch import torch
from paceline.run.record_facts import group
from paceline.run.record_stamp import Stamp

Hook = Callable[[Any, Any], Any]


@dataclass(slots=True, eq=False)
class Issued:
    """One bucket on its way; norms are tensors until somebody needs the numbers."""

    watch: "Watch"
    index: int
    size_bytes: int
    sequence: int
    begun: Stamp
    done: Stamp | None = None
    local: Any = None
    average: Any = None


class Watch:
    """The buckets of one module."""

    def __init__(self, module: Any) -> None:
        self.module = weakref.ref(module)
        self.number = 0
        self.inner: tuple[Any, Hook] | None = None  # somebody else's state and hook
        self.process_group: Any = module.process_group
        self.group, self.members = group(self.process_group)
        self.size = int(self.process_group.size())
        self.issue: Callable[[Watch, Any], Issued | None] = _nobody_asked
        self.complete: Callable[[Issued, Any], object] = _nobody_asked
        # by a power of two, dividing and multiplying come to the same
        self.divides = bool(module.gradient_as_bucket_view) and self.size & (self.size - 1) != 0
        self.scaled = False  # the bucket at hand, together with its norm
        self.places: dict[int, tuple[int, int]] = {}
        self.views: set[int] = set()
        self.map: dict[int, tuple[int, list[tuple[str, int]]]] = {}
        self._names: dict[int, str] = {}
        self.under_way: list[tuple[Issued | None, Any, Any]] = []

    def collect(self) -> None:
        """Notes which buckets on their way are complete by now."""
        left: list[tuple[Issued | None, Any, Any]] = []
        for issued, future, flat in self.under_way:
            if not future.done():
                left.append((issued, future, flat))
            elif issued is not None:
                self.complete(issued, flat)
        self.under_way = left

    def wait(self) -> None:
        """Waits until all buckets on their way are complete; torch waits for nothing more then."""
        while self.under_way:
            issued, future, flat = self.under_way.pop(0)
            future.wait()
            if issued is not None:
                self.complete(issued, flat)

    def sees(self, flat: Any) -> bool:
        """Whether this watch itself may wait for its buckets, at the end of backward."""
        module = self.module()
        plain = module is not None and not getattr(module, "static_graph", False)
        return plain and self.inner is None and flat.device.type == "cpu" and not flat.is_sparse

    def seen(self, bucket: Any) -> int:
        """The size of a bucket in bytes; its tensors are noted when they are new."""
        index, flat = int(bucket.index()), bucket.buffer()
        size = int(flat.numel() * flat.element_size())
        where = 0 if flat.is_sparse else int(flat.data_ptr())
        if self.places.get(index) != (where, size):
            self.places[index] = (where, size)
            self.map[index] = (size, self._tensors(bucket))
            if bucket.is_last():  # DDP lays its buckets out anew after the first step
                self.map = {at: own for at, own in self.map.items() if at <= index}
        return size

    def _tensors(self, bucket: Any) -> list[tuple[str, int]]:
        module = self.module()
        if not self._names and module is not None:
            self._names = {id(p): name for name, p in module.module.named_parameters()}
        return [
            (self._names.get(id(p), "?"), int(p.numel() * p.element_size()))
            for p in bucket.parameters()
        ]

    def look_at_views(self) -> None:
        """Before backward: which gradients still lie in a bucket, where the last one has left
        them. Those that were dropped since are made anew outside.
        """
        module = self.module()
        if self.divides and module is not None:
            kept = (p for p in module.module.parameters() if p.grad is not None)
            self.views.intersection_update([id(p) for p in kept])

    def reduced(self, bucket: Any) -> Any:
        """The future of the averaged bucket, as the module itself or the inner hook makes it."""
        if self.inner is not None:
            state, hook = self.inner
            return hook(state, bucket)
        flat = bucket.buffer()
        if not self.scaled:
            self._divide(bucket, flat)
        self.scaled = False
        return self.process_group.allreduce([flat]).get_future()

    def factor(self, flat: Any) -> float | None:
        """What a bucket is to be multiplied by as a whole, if that is how it is averaged."""
        whole = self.inner is None and not self.divides and not flat.is_sparse
        return 1.0 / self.size if whole else None

    def _divide(self, bucket: Any, flat: Any) -> None:
        """As the module divides: gradients are multiplied by 1 / size when they are copied into
        the bucket, and divided by size where they lie in it or are sparse.
        """
        if flat.is_sparse:
            flat.div_(self.size)
        elif not self.divides:
            flat.mul_(1.0 / self.size)
        else:
            for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
                if id(parameter) in self.views:
                    gradient.div_(self.size)
                else:
                    gradient.mul_(1.0 / self.size)
                    self.views.add(id(parameter))


def hook(watch: Watch, bucket: Any) -> Any:
    """The communication hook of a watched module.

    A callback in the thread that communicates would need the interpreter there, and handing that
    over costs milliseconds on crowded cores. So where it may, the watch waits for its buckets by a
    callback of the engine, which comes before the module's own, and torch is told that all is done.
    """
    watch.collect()
    issued = watch.issue(watch, bucket)
    flat = bucket.buffer()
    future = watch.reduced(bucket)
    if not watch.sees(flat):
        return future.then(partial(_completed, watch, issued))
    if not watch.under_way:
        engine: Any = torch("autograd").Variable._execution_engine
        engine.queue_callback(watch.wait)
    watch.under_way.append((issued, future, flat))
    done = torch("futures").Future()
    done.set_result(flat)
    return done


hook.__annotations__ = {}  # torch refuses hooks that are annotated with anything but its own types


def _completed(watch: Watch, issued: Issued | None, future: Any) -> Any:
    value = future.value()
    tensor: Any = cast(Any, value)[0] if isinstance(value, (list, tuple)) else value
    if issued is not None:
        watch.complete(issued, tensor)
    return tensor


def _nobody_asked(*_: object) -> None:
    """What follows of a bucket while nobody records."""
