"""What DistributedDataParallel calls for each bucket: it is handed to the carrier and waited for.

The wait lies in a callback of the backward pass, before torch's own: there an error of a peer comes
up in the training script, as an exception of `loss.backward()`, and the time is stamped. Messages
of a bucket are worked out once for each size.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
import torch.distributed as dist
from torch.distributed import GradBucket  # pyright: ignore[reportPrivateImportUsage]

from paceline.model import RunError
from paceline.reduce import Message, Program, messages
from paceline.run import batched, stamps
from paceline.run.carrier import Carrier
from paceline.run.job import Job

_LOOK_S = 1.0


class Transport:
    """The buckets of one model; `programs` by bucket, None for all others."""

    def __init__(
        self,
        carrier: Carrier,
        programs: Mapping[int | None, Program],
        group: stamps.Group,
        *,
        chunk_bytes: int,
        split_bytes: int | None,
    ) -> None:
        self.carrier = carrier
        self.programs = programs
        self.group = group
        self.workers = len(group.ranks)
        self.chunk_bytes = chunk_bytes
        self.split_bytes = split_bytes
        self.device_group: dist.ProcessGroup | None = None  # where tensors are not on the CPU
        self._jobs = 0
        self._waiting: list[Job] = []
        self._messages = lru_cache(maxsize=None)(self._worked_out)

    def hook(self, state: object, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
        """The averaged gradients of the bucket, once they are here."""
        del state
        if self.device_group is not None:
            return self._batched(bucket.buffer(), bucket.index(), self.device_group)
        if not self._waiting:
            engine = torch.autograd.Variable._execution_engine  # pyright: ignore[reportPrivateUsage]
            engine.queue_callback(self.wait)
        return self.averaged(bucket.buffer(), bucket.index())

    def averaged(self, buffer: torch.Tensor, bucket: int) -> torch.futures.Future[torch.Tensor]:
        """Hands a flat buffer in, in parts if need be; the future is done when it is the average.

        Then, or before the next buffers, `wait` must be called.
        """
        began_ns = time.time_ns()
        if self.carrier.error is not None:
            raise self.carrier.error
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        jobs = self._parts(buffer, bucket, future)
        self._waiting += jobs
        own = stamps.current()
        if own is not None:
            at = own.group(self.group)
            where = threading.get_native_id()
            row = stamps.Stamp(
                stamps.ISSUE, began_ns, time.time_ns(), where, -1, bucket, -1, -1, -1, 0
            )
            issued = own.add(at, row)
            for job in jobs:
                job.stamps, job.group, job.issued = own, at, issued
        for job in jobs:
            self.carrier.put(job)
        return future

    def _batched(
        self, buffer: torch.Tensor, bucket: int, group: dist.ProcessGroup
    ) -> torch.futures.Future[torch.Tensor]:
        program = bucket if bucket in self.programs else None
        whole = self._messages(program, len(buffer), buffer.element_size())
        batched.averaged(buffer, whole, group, self.group.ranks)
        devices: list[int | str | torch.device] = [buffer.device] if buffer.is_cuda else []
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices or None)
        future.set_result(buffer)
        return future

    def _parts(
        self, buffer: torch.Tensor, bucket: int, future: torch.futures.Future[torch.Tensor]
    ) -> list[Job]:
        size = buffer.element_size()
        program = bucket if bucket in self.programs else None
        limit = len(buffer) if self.split_bytes is None else max(self.split_bytes // size, 1)
        count = max(-(-len(buffer) // limit), 1)
        jobs: list[Job] = []
        for part in range(count):
            own = buffer[len(buffer) * part // count : len(buffer) * (part + 1) // count]
            jobs.append(
                Job(
                    own, self._messages(program, len(own), size), bucket=bucket,
                    number=self._jobs, divisor=self.workers,
                    whole=buffer if part == count - 1 else None, future=future,
                )
            )  # fmt: skip
            self._jobs += 1
        return jobs

    def _worked_out(self, program: int | None, elements: int, size: int) -> Sequence[Message]:
        chunk = max(self.chunk_bytes // size, 1)
        return messages(self.programs[program], elements, chunk)

    def wait(self) -> None:
        """Waits for all buckets that were handed in; raises what went wrong with them."""
        waiting, self._waiting = self._waiting, []
        for at, job in enumerate(waiting):
            began_ns = time.time_ns()
            while not job.done.wait(_LOOK_S):
                if not self.carrier.alive():
                    raise RunError("the transport has ended.", cure="Make the model anew.")
            if job.error is not None:
                raise job.error
            ended = at + 1 == len(waiting) or waiting[at + 1].bucket != job.bucket
            if job.stamps is not None and ended:
                row = stamps.Stamp(
                    stamps.WAIT, began_ns, time.time_ns(), threading.get_native_id(), -1,
                    job.bucket, -1, -1, -1, 0,
                )  # fmt: skip
                job.stamps.add(job.group, row, job.lasts)
