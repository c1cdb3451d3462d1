"""What one worker does in a step, and how it is written down: forward, backward, update, buckets.

Backward is cut where buckets are issued, so that each bucket follows the work that it waits for;
what passes until the last bucket is complete is nobody's work. Buckets of one group go one after
the other: each lasts from its issue, or the end of the one before, until it is complete.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from paceline.run.record_bucket import Issued
from paceline.run.record_stamp import Stamp, Stamps

Line = dict[str, object]


@dataclass(slots=True)
class Backward:
    """One backward: its moments and what it sent off."""

    begun: Stamp
    ended: Stamp | None = None
    buckets: list[Issued] = field(default_factory=list[Issued])


@dataclass(slots=True)
class Step:
    """One step while it happens; `free` is the moment since which nothing else was under way."""

    number: int
    free: Stamp
    forwards: list[tuple[Stamp, Stamp]] = field(default_factory=list[tuple[Stamp, Stamp]])
    backwards: list[Backward] = field(default_factory=list[Backward])
    updates: list[tuple[Stamp, Stamp]] = field(default_factory=list[tuple[Stamp, Stamp]])
    losses: list[Any] = field(default_factory=list[Any])


def lines(step: Step, worker: int, stamps: Stamps) -> Iterator[Line]:
    """The events of a step that is over, and its norms, as lines of the native format."""
    events: list[Line] = []
    for begun, ended in step.forwards:
        events.append(_work("forward", "forward", stamps.ns(begun), stamps.ns(ended)))
    free: dict[str, int] = {}
    for backward in step.backwards:
        events += _backward(backward, stamps, free)
    for begun, ended in step.updates:
        events.append(_work("update", "update", stamps.ns(begun), stamps.ns(ended)))
    for event in events:
        yield {"worker": worker, "step": step.number, **event}
    norms = _norms(step)
    if norms:
        yield {"norms": norms, "worker": worker, "step": step.number}


def _backward(backward: Backward, stamps: Stamps, free: dict[str, int]) -> Iterator[Line]:
    since = stamps.ns(backward.begun)
    last = since
    for bucket in backward.buckets:
        issued = stamps.ns(bucket.begun)
        name = f"backward to {_name(bucket)}"
        yield _work(name, "backward", since, issued)
        since, last = issued, max(last, issued)
        if bucket.done is not None:
            done = stamps.ns(bucket.done)
            began = max(issued, free.get(bucket.watch.group, 0))
            free[bucket.watch.group] = max(done, began)
            last = max(last, done)
            yield _collective(bucket, began, max(done - began, 0))
        else:
            yield _collective(bucket, issued, None)
    if backward.ended is not None:
        name = "backward" if not backward.buckets else "backward, after the last bucket"
        yield _work(name, "backward", last, stamps.ns(backward.ended))


def _work(name: str, phase: str, begun: int, ended: int) -> Line:
    return {
        "name": name,
        "kind": "compute",
        "phase": phase,
        "lane": "main",
        "start_ns": begun,
        "duration_ns": max(ended - begun, 0),
    }


def _collective(bucket: Issued, began: int, lasted: int | None) -> Line:
    return {
        "name": f"all_reduce {_name(bucket)}",
        "kind": "collective",
        "phase": "backward",
        "lane": "comm",
        "start_ns": began,
        **({} if lasted is None else {"duration_ns": lasted}),
        "size_bytes": bucket.size_bytes,
        "group": bucket.watch.group,
        "sequence": bucket.sequence,
    }


def _name(bucket: Issued) -> str:
    module = f" of module {bucket.watch.number}" if bucket.watch.number else ""
    return f"bucket {bucket.index}{module}"


def _norms(step: Step) -> dict[str, float]:
    """Loss and squared norms; of a bucket that was reduced twice the last time counts."""
    found: dict[str, float] = {}
    if step.losses:
        # gradients of several backwards add up, and so do their losses
        found["loss"] = float(sum(float(loss) for loss in step.losses))
    last = {
        (bucket.watch.number, bucket.index): bucket
        for backward in step.backwards
        for bucket in backward.buckets
    }
    for name in ("local", "average"):
        each = [getattr(bucket, name) for bucket in last.values()]
        if each and all(value is not None for value in each):
            found[name] = float(sum(float(value) for value in each))
    return found
