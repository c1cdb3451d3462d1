"""A program by torch's own point-to-point operations, round by round: for tensors of other devices.

All that a worker sends and receives in one round goes out as one batch, in the same order at both
ends; what comes is added before the next round. Tested with gloo on CPUs only; no stamps, and no
overlap of one round with the next.
"""

from collections.abc import Sequence
from itertools import groupby

import torch
import torch.distributed as dist

from paceline.reduce import Message


def averaged(
    buffer: torch.Tensor,
    messages: Sequence[Message],
    group: dist.ProcessGroup,
    ranks: Sequence[int],
) -> None:
    """Makes the flat buffer the average over all workers."""
    divisor = len(ranks)
    if buffer.dtype is torch.float16:  # sums of it may be too large for it
        buffer /= divisor
        divisor = 1
    for _, some in groupby(messages, key=lambda one: one.hop.round):
        batch: list[dist.P2POp] = []
        came: list[tuple[Message, torch.Tensor]] = []
        for one in some:
            own, rank = buffer[one.begin : one.end], ranks[one.hop.peer]
            if one.hop.sends:
                batch.append(dist.P2POp(dist.isend, own, rank, group))
                continue
            room = torch.empty_like(own) if one.hop.adds else own
            batch.append(dist.P2POp(dist.irecv, room, rank, group))
            if one.hop.adds:
                came.append((one, room))
        for work in dist.batch_isend_irecv(batch):
            work.wait()
        for one, room in came:
            own = buffer[one.begin : one.end]
            own += room
            if one.hop.completes and divisor != 1:
                own /= divisor
